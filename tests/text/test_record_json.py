"""A record as an object of JSON: what is written is read as it was, by `ottla topics produce --json` and by a seed."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ottla.control.changes.seeds import SeededRecord, SeedError, read_seed, seeded
from ottla.text.record_json import NotARecord, WrittenRecord, json_line, read_json_line, read_record


@pytest.mark.parametrize(
    "record",
    [
        WrittenRecord(None, None),
        WrittenRecord(b"", b"", timestamp_ms=7),
        WrittenRecord("größe".encode(), b"\xff\x00", (("a", b"1"), ("b", None))),
        WrittenRecord(b"k", b"v", (("twice", b"1"), ("twice", b"2"))),
        WrittenRecord(b"k", b"v", (("raw", b"\xff"),)),
        WrittenRecord(b"\xff", b"v", (("twice", b"\xff"), ("twice", None))),
    ],
)
def test_every_record_survives_its_line(tmp_path: Path, record: WrittenRecord) -> None:
    """Bytes that are no text, headers that come twice or have no value: with whoever reads the line."""
    line = json_line("orders", 3, 7, record)
    assert line.isascii()
    path = tmp_path / "seed.jsonl"
    path.write_text(line)
    (planted,) = read_seed(path)
    assert isinstance(planted, SeededRecord)
    for again in (read_json_line(line), planted.record):
        assert (again.key, again.value, again.headers) == (record.key, record.value, record.headers)
        assert (again.topic, again.partition, again.timestamp_ms) == ("orders", 3, record.timestamp_ms)


REFUSED: list[tuple[dict[Any, Any], str]] = [
    ({"valeu": 1, "key": "k"}, "valeu means nothing here; did you mean value?"),
    ({3: 1, "key": "k"}, "3 means nothing here"),
    ({"value": 1, "value_base64": "YQ=="}, "value and value_base64 are both there; write one of them"),
    ({"value_base64": "%"}, "value_base64 is not base64"),
    ({"value": "x", "partition": "one"}, "partition is 'one', and should be a whole number"),
    ({"value": "x", "timestamp_ms": True}, "timestamp_ms is True, and should be a whole number"),
    ({"value": "x", "timestamp_ms": 1 << 63}, "timestamp_ms is 9223372036854775808, and no record can have that"),
    ({"value": "x", "offset": "7"}, "offset is '7', and should be a whole number"),
    ({"value": "x", "topic": 3}, "topic is 3, and should be text"),
    ({"value": "x", "headers": [1]}, "headers are an object, or an array"),
    ({"value": "x", "headers": "from=ana"}, "headers are an object, or an array"),
    ({"value": "x", "headers": {"raw": {"base64": "%"}}}, "a header's base64 is not base64"),
    ({"value": "\ud800"}, r"value has half a character in it, '\\ud800'; bytes that are no text are base64"),
    ({"value": "x", "headers": {"\ud800": "x"}}, "a header's name has half a character in it"),
    ({"value": date(2026, 11, 22)}, "value is nothing that JSON has: date; write it as text"),
]


@pytest.mark.parametrize(("said", "why"), REFUSED)
def test_objects_that_are_no_record(said: dict[Any, Any], why: str) -> None:
    """Told in the same words by whoever reads them."""
    with pytest.raises(NotARecord, match=why):
        read_record(said)
    with pytest.raises(SeedError, match=f"entry 1: {why}"):
        seeded("entry 1", {"topic": "orders", **said})


@pytest.mark.parametrize(("line", "why"), [("soup", "this is not JSON"), ("[]", "write an object")])
def test_lines_that_are_no_object(line: str, why: str) -> None:
    with pytest.raises(NotARecord, match=why):
        read_json_line(line)


def test_values_that_are_no_text_are_json() -> None:
    said = {"dish": "soup"}
    found = read_record({"key": 4, "value": said, "headers": [["from", ["ana"]]]})
    assert (found.key, found.value, found.headers) == (b"4", json.dumps(said).encode(), (("from", b'["ana"]'),))

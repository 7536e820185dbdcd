"""What nobody may see is gone, whatever the JSON; what remains has its shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.pipeline.transforms.records import HEADERS_TYPE
from ottla.pipeline.transforms.redaction import MET, parse_path, pseudonym, redact_json, redacted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANA = pseudonym(b"Ana", "s")


def number(of: object) -> int:
    return int(pseudonym(str(of).encode(), "s"), 16) % 1_000_000


@pytest.mark.parametrize(
    ("before", "after", "met"),
    [
        ({"a": {"b": "Ana"}, "c": 1}, {"a": {"b": ANA}, "c": 1}, 1),
        ({"a": [{"b": "Ana"}, {"b": "Ana"}, {}]}, {"a": [{"b": ANA}, {"b": ANA}, {}]}, 1),
        ([{"a": {"b": "Ana"}}], [{"a": {"b": ANA}}], 1),
        ({"a": {"b": {"x": "Ana", "y": [7, 1.5, None, True]}}}, None, 1),
        ({"a": "Ana"}, {"a": "Ana"}, 0),
        ({"b": "Ana"}, {"b": "Ana"}, 0),
    ],
    ids=["a field", "of all in a list", "a list outside", "all below", "nothing below", "elsewhere"],
)
def test_a_field_of_json(before: Any, after: Any, met: int) -> None:
    """a.b, of whatever is there; text becomes digits, numbers others, and null, true and lists stay."""
    if after is None:
        after = {"a": {"b": {"x": ANA, "y": [number(7), float(number(1.5)), None, True]}}}
    made, is_met = redact_json(json.dumps(before).encode(), {("a", "b"): 1}, "s")
    assert (json.loads(made or b""), is_met) == (after, met)


@pytest.mark.parametrize(
    "data", [b"Ana", b'"Ana"', b"\xff", b"", b"{", b"[" * 100_000, b"1" * 5_000, rb'{"a":"\ud800"}']
)
def test_what_is_no_object_is_replaced_whole(data: bytes) -> None:
    """It can't be told where in it the field is; nor is half a character text that could be written again."""
    assert redact_json(data, {("a",): 1}, "s") == (pseudonym(data, "s").encode(), 0)


def test_a_name_that_is_there_twice() -> None:
    """Readers of JSON take the last; nothing of the first remains."""
    assert redact_json(b'{"a":{"b":"Ana"},"a":{}}', {("a", "b"): 1}, "s") == (b'{"a":{}}', 0)


SECRET = "the secret"
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREE = st.recursive(LEAF, lambda below: st.lists(below) | st.dictionaries(st.text(), below), max_leaves=12)
HIDING = st.recursive(st.just(SECRET), lambda below: st.lists(below | LEAF) | st.dictionaries(st.text(), below | LEAF))


@given(TREE, HIDING, st.booleans())
def test_whatever_is_at_the_path_is_gone(tree: Any, hidden: Any, is_listed: bool) -> None:
    """As deep in lists and objects as it may be; all else is as it was."""
    if SECRET in json.dumps(tree):
        return
    below = {"keep": tree, "hide": hidden}
    made, met = redact_json(json.dumps({"a": [below] if is_listed else below}).encode(), {("a", "hide"): 1}, "s")
    # Names are no values: only what stands at them is replaced.
    found = json.loads(made or b"")["a"]
    found = found[0] if is_listed else found
    assert met == 1
    assert SECRET not in leaves(found["hide"])
    assert found["keep"] == json.loads(json.dumps(tree))


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for below in tree.values() for leaf in leaves(below)]
    return [leaf for below in tree for leaf in leaves(below)] if isinstance(tree, list) else [tree]


def test_parts_of_records(spark: SparkSession) -> None:
    """Whole keys, headers by name, and fields of JSON; `_met` has a bit for each path that a record had."""
    rows = [
        (b"Ana", b'{"a":"Ana"}', [("who", b"Ana"), ("what", b"Ana"), ("who", None)]),
        (None, None, None),
        (b"", b"{}", []),
    ]
    frame = spark.createDataFrame(rows, f"key binary, value binary, headers {HEADERS_TYPE}")
    paths = [parse_path(text) for text in ("key", "value.a", "headers.who")]
    first, second, third = redacted(frame.coalesce(1), paths, "s").collect()
    ana = ANA.encode()
    assert (first["key"], first["value"], first[MET]) == (ana, b'{"a":"' + ana + b'"}', 0b111)
    assert [tuple(header) for header in first["headers"]] == [("who", ana), ("what", b"Ana"), ("who", None)]
    assert tuple(second) == (None, None, None, 0)
    assert (third["key"], third["value"], third["headers"], third[MET]) == (pseudonym(b"", "s").encode(), b"{}", [], 1)


@pytest.mark.parametrize("text", ["", "name", "value.", "value..a", "partition", "key.a."])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError):
        parse_path(text)

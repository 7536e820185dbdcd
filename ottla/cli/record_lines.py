"""Records as lines: JSON for programs, which can be produced again, and is what a seed takes; a plain line for people.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp_ms": 1795273956114, "key": "table 4", "value": "soup"}

Bytes that are no text in UTF-8 are `key_base64`, `value_base64`. Headers are an object; it has an array of
[name, value] instead if a name comes twice, and of [name, {"base64": …}] where a value is no text; a seed takes no such
array.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"

_PLACE: Final = ("topic", "partition", "offset", "timestamp_ms")
_NAMES: Final = {*_PLACE, "key", "value", "key_base64", "value_base64", "headers"}


class NotARecord(ValueError):
    """A line says no record; the text says why."""


@dataclass(frozen=True, slots=True)
class RecordLine:
    """What a line says of a record. None: it says nothing, or the record has none."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def json_line(topic: str, partition: int, offset: int, record: RecordLine) -> str:
    """A record as a line of JSON."""
    said: dict[str, Any] = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp_ms": record.timestamp_ms,
        **_said("key", record.key),
        **_said("value", record.value),
    }
    if record.headers:
        said["headers"] = _headers_said(record.headers)
    return json.dumps(said)


def text_line(partition: int, offset: int, record: RecordLine) -> str:
    """A record as a line for people."""
    time = "-" if record.timestamp_ms is None or record.timestamp_ms < 0 else _time_text(record.timestamp_ms)
    words = [f"{partition}:{offset}", time, _shown(record.key), _shown(record.value)]
    words += [f"{name}={_shown(value)}" for name, value in record.headers]
    return "  ".join(words)


def read_json_line(text: str) -> RecordLine:
    """The record that a line of JSON says. Its topic and offset say where it was, and are passed over.

    Raises `NotARecord`.
    """
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotARecord(f"this is not JSON: {error}") from None
    if not isinstance(said, dict):
        raise NotARecord('write an object, such as {"key": "table 4", "value": "soup"}')
    if unknown := said.keys() - _NAMES:
        raise NotARecord(f"{min(unknown)} means nothing here; a record has {', '.join(sorted(_NAMES))}")
    return RecordLine(
        _bytes_of(said, "key"),
        _bytes_of(said, "value"),
        _headers_of(said.get("headers") or {}),
        _whole(said, "partition"),
        _whole(said, "timestamp_ms"),
    )


def _time_text(timestamp_ms: int) -> str:
    try:
        date = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(data: bytes | None) -> str:
    """Bytes for people; `-` where there are none, and an escape for what is no text."""
    return "-" if data is None else data.decode("utf-8", "backslashreplace")


def _said(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def _headers_said(headers: Headers) -> object:
    said = [(name, _said("", value)) for name, value in headers]
    values = [(name, text[""] if "" in text else {"base64": text["_base64"]}) for name, text in said]
    is_simple = len({name for name, _ in values}) == len(values) and not any(isinstance(v, dict) for _, v in values)
    return dict(values) if is_simple else [list(pair) for pair in values]


def _headers_of(said: object) -> Headers:
    pairs = list(said.items()) if isinstance(said, dict) else said
    if not isinstance(pairs, list) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise NotARecord("headers are an object, or an array of [name, value]")
    return [(str(name), _header_value(value)) for name, value in pairs]


def _header_value(said: object) -> bytes | None:
    if isinstance(said, dict) and said.keys() == {"base64"}:
        return _from_base64("headers", said["base64"])
    return _encoded(said)


def _bytes_of(said: dict[str, Any], name: str) -> bytes | None:
    coded = said.get(f"{name}_base64")
    if coded is None:
        return _encoded(said.get(name))
    if said.get(name) is not None:
        raise NotARecord(f"{name} and {name}_base64 are both there; write one of them")
    return _from_base64(f"{name}_base64", coded)


def _from_base64(name: str, coded: object) -> bytes:
    try:
        return base64.b64decode(str(coded), validate=True)
    except ValueError:
        raise NotARecord(f"{name} is not base64") from None


def _encoded(value: Any) -> bytes | None:
    """Text as UTF-8, anything else as JSON."""
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "surrogatepass")


def _whole(said: dict[str, Any], name: str) -> int | None:
    value = said.get(name)
    if value is not None and type(value) is not int:
        raise NotARecord(f"{name} is {value!r}, and should be a whole number")
    return value

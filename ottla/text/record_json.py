"""A record as an object of JSON: what `ottla topics consume --json` prints, `produce --json` reads, and a seed takes.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp_ms": 1795273956114, "key": "table 4", "value": "soup"}

A key or a value is text, null, or anything else, which is kept as JSON; bytes that are no text in UTF-8 are
`key_base64`, `value_base64`. Headers are an object; or, where a name comes twice, an array of [name, value]. A header's
value that is no text is {"base64": …}. The offset says where the record was; reading ignores it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ottla.text.nearest import nearest

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"

#: An object that has one of these is a record.
CONTENT_NAMES: Final = frozenset({"key", "value", "key_base64", "value_base64"})
_NAMES: Final = (*("topic", "partition", "offset", "timestamp_ms"), *sorted(CONTENT_NAMES), "headers")
_TIMESTAMP_MS_MAX: Final = (1 << 63) - 1


class NotARecord(ValueError):
    """An object is not a record; the text says why."""


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """A record as an object describes it. None: the object leaves it out, or the record has none."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    topic: str | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


def json_line(topic: str, partition: int, offset: int, record: WrittenRecord) -> str:
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


def read_json_line(text: str) -> WrittenRecord:
    """The record in a line of JSON. Raises `NotARecord`."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotARecord(f"this is not JSON: {error}") from None
    if not isinstance(said, dict):
        raise NotARecord('write an object, such as {"key": "table 4", "value": "soup"}')
    return read_record(said)


def read_record(said: Mapping[Any, Any]) -> WrittenRecord:
    """The record in an object of JSON or YAML. Raises `NotARecord`."""
    for name in said:
        if name not in _NAMES:
            raise NotARecord(f"{name} means nothing here; {nearest(str(name), _NAMES)}")
    topic = said.get("topic")
    if topic is not None and type(topic) is not str:
        raise NotARecord(f"topic is {topic!r}, and should be text")
    timestamp_ms = _whole(said, "timestamp_ms")
    if timestamp_ms is not None and not -1 <= timestamp_ms <= _TIMESTAMP_MS_MAX:
        raise NotARecord(f"timestamp_ms is {timestamp_ms}, and no record can have that")
    _whole(said, "offset")
    return WrittenRecord(
        _bytes_of(said, "key"),
        _bytes_of(said, "value"),
        _headers_of(said.get("headers") or {}),
        topic,
        _whole(said, "partition"),
        timestamp_ms,
    )


def text_of(name: str, value: object) -> str:
    """A value of JSON as text: text as it is, anything else as JSON. `name` is what it is the value of.

    Raises `NotARecord` for what neither JSON nor UTF-8 has, which YAML and escapes can bring.
    """
    if not isinstance(value, str):
        try:
            return json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise NotARecord(f"{name} is nothing that JSON has: {type(value).__name__}; write it as text") from None
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotARecord(f"{name} has half a character in it, {value!r}; bytes that are no text are base64") from None
    return value


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
    is_simple = len({name for name, _ in values}) == len(values)
    return dict(values) if is_simple else [list(pair) for pair in values]


def _headers_of(said: object) -> Headers:
    pairs = list(said.items()) if isinstance(said, dict) else said
    if not isinstance(pairs, list) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise NotARecord("headers are an object, or an array of [name, value]")
    return tuple((text_of("a header's name", name), _header_value(value)) for name, value in pairs)


def _header_value(said: object) -> bytes | None:
    if isinstance(said, dict) and said.keys() == {"base64"}:
        return _from_base64("a header's base64", said["base64"])
    return _encoded("a header", said)


def _bytes_of(said: Mapping[str, Any], name: str) -> bytes | None:
    coded = said.get(f"{name}_base64")
    if coded is None:
        return _encoded(name, said.get(name))
    if said.get(name) is not None:
        raise NotARecord(f"{name} and {name}_base64 are both there; write one of them")
    return _from_base64(f"{name}_base64", coded)


def _from_base64(name: str, coded: object) -> bytes:
    try:
        return base64.b64decode(str(coded), validate=True)
    except ValueError:
        raise NotARecord(f"{name} is not base64") from None


def _encoded(name: str, value: object) -> bytes | None:
    return None if value is None else text_of(name, value).encode()


def _whole(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    if value is not None and type(value) is not int:
        raise NotARecord(f"{name} is {value!r}, and should be a whole number")
    return value

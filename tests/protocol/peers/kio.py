"""kio's codec: a dataclass for every message and version of all the APIs, read by Rust, written by Python.

Its types hold less than the wire does: an error code must be one it knows, an instant lies between 1970 and 9999, a
length of time fits a `timedelta`. `narrowed` makes of any message one whose values it can hold. Tags that kio does not
know it drops when it reads, so it is asked without them.
"""

from __future__ import annotations

import dataclasses
import io
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias, get_args

from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import LoadableEntityType, api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from ottla.protocol.messages import APIS
from ottla.protocol.primitives import ZERO_UUID, Message
from tests.protocol.peers import each
from tests.protocol.strategies import FieldLayout, Kind, layout, remembered, struct_class

Entity: TypeAlias = Any

#: What Kafka has added to clients' APIs after the release that kio was made from; only Kafka's own classes judge these.
NEWER: Final = {
    ("ApiVersions", 5),
    ("TxnOffsetCommit", 6),
    ("DeleteGroups", 3),
    ("StreamsGroupHeartbeat", 1),
    ("StreamsGroupDescribe", 1),
    ("StreamsGroupTopologyDescriptionUpdate", 0),
}
#: And the first error code that is newer.
NEWER_ERROR_CODE_FIRST: Final = 134

_ERROR_CODES: Final = {int(code.value) for code in ErrorCode}
#: What None stands for where the wire has no null.
_NONE_MEANS: Final = {"uuid": ZERO_UUID, "datetime_i64": -1}
_API_KEYS: Final = {row[2]: row[0] for row in APIS}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_INSTANT_MS_MAX: Final = 2**41  # in 2039; kio goes by way of a float, which further out is a millisecond off
_LENGTH_MS_MAX: Final = 2**53


def knows(kind: Kind, version: int) -> bool:
    """Has it this message, in this version? Asks its index, without importing the five hundred modules behind it."""
    name, entity_type = _place(kind)
    return entity_type in schema_name_map.get(name, {}).get(version, {})


def narrowed(message: Message, version: int) -> Message:
    """The message itself, but for values that kio's types cannot hold."""
    return _to_ours(type(message), type(message), version, to_entity(message, version))


def encode(message: Message, version: int) -> bytes:
    """Its bytes for a message of the same values."""
    entity = to_entity(message, version)
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def decode(kind: Kind, version: int, frame: bytes) -> Message:
    """What it reads from the bytes, as one of our messages."""
    entity, end = entity_reader(_entity_class(kind, version))(frame, 0)
    assert end == len(frame)
    return _to_ours(kind, kind, version, entity)


def to_entity(message: Message, version: int) -> Entity:
    """The message as kio's own dataclass."""
    return _to_entity(type(message), message, version, _entity_class(type(message), version))


@remembered
def _entity_class(kind: Kind, version: int) -> type[Any]:
    name, entity_type = _place(kind)
    return load_entity_schema(name, version, entity_type)


def _place(kind: Kind) -> tuple[str, LoadableEntityType]:
    """Where kio's index has it."""
    module = kind.__module__.rpartition(".")[2]
    if module in _API_KEYS:
        is_request = kind.__name__.endswith("Request")
        return api_key_map.get(_API_KEYS[module], ""), EntityType.request if is_request else EntityType.response
    return module, EntityType.header if module.endswith("_header") else EntityType.data


def _pairs(struct: Kind, version: int, entity_class: type[Any]) -> Iterator[tuple[FieldLayout, Any]]:
    """Our fields of this version beside kio's; both stand in the schema's order, and kio leaves out `_ms`."""
    for ours, theirs in zip(layout(struct, version), dataclasses.fields(entity_class), strict=True):
        assert _bare(ours.name).startswith(_bare(theirs.name)), (ours.name, theirs.name)
        yield ours, theirs


def _bare(name: str) -> str:
    return name.replace("_", "")


def _to_entity(kind: Kind, struct: Message, version: int, entity_class: Any) -> Entity:
    values = {}
    for ours, theirs in _pairs(type(struct), version, entity_class):
        if struct_class(kind, ours):
            convert = partial(_to_entity, kind, version=version, entity_class=_dataclass_in(theirs.type))
        else:
            convert = partial(_value_to_theirs, kafka_type=theirs.metadata["kafka_type"])
        value = each(ours, getattr(struct, ours.name), convert)
        values[theirs.name] = tuple(value) if ours.is_array and value is not None else value
    return entity_class(**values)


def _dataclass_in(annotation: Any) -> Any:
    """The entity in `Entity`, `tuple[Entity, ...]` or either of them `| None`."""
    if dataclasses.is_dataclass(annotation):
        return annotation
    return next(filter(None, map(_dataclass_in, get_args(annotation))), None)


def _value_to_theirs(value: Any, kafka_type: str) -> Any:
    match kafka_type:
        case "error_code":
            return ErrorCode(value) if value in _ERROR_CODES else ErrorCode(0)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=max(-_LENGTH_MS_MAX, min(value, _LENGTH_MS_MAX)))
        case "datetime_i64":
            return None if value == -1 else _EPOCH + timedelta(milliseconds=max(0, min(value, _INSTANT_MS_MAX)))
        case "uuid":
            return None if value == ZERO_UUID else uuid.UUID(bytes=value)
    return value


def _to_ours(kind: Kind, struct: Kind, version: int, entity: Entity) -> Message:
    values = {}
    for ours, theirs in _pairs(struct, version, type(entity)):
        value = getattr(entity, theirs.name)
        nested = struct_class(kind, ours)
        if nested:
            values[ours.name] = each(ours, value, partial(_to_ours, kind, nested, version))
        elif value is None:
            values[ours.name] = _NONE_MEANS.get(theirs.metadata["kafka_type"])
        else:
            values[ours.name] = each(ours, value, partial(_value_to_ours, kafka_type=theirs.metadata["kafka_type"]))
    return struct(**values)


def _value_to_ours(value: Any, kafka_type: str) -> Any:
    match kafka_type:
        case "error_code":
            return int(value.value)
        case "timedelta_i32" | "timedelta_i64":
            return value // _MILLISECOND
        case "datetime_i64":
            return (value - _EPOCH) // _MILLISECOND
        case "uuid":
            return ZERO_UUID if value is None else value.bytes
    return value

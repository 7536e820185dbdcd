"""kafka-python's codec: it interprets the schemas its wheel carries, 53 of the APIs.

What it sees differently, each for a reason of its own:

- a topic id of zeros is None there, and authorized operations are a set of bits;
- a tagged struct with default values is None there;
- tags it does not know are dropped when it writes, and refused inside a tagged struct, so it is asked without them.
"""

from __future__ import annotations

import importlib
import importlib.resources
import io
import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from kafka.protocol.api_data import ApiData
from kafka.protocol.api_header import ApiHeader, RequestHeader, ResponseHeader
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.codecs import BitField

from ottla.protocol.generate.schema import Versions, snake_case
from ottla.protocol.primitives import ZERO_UUID, Message
from tests.protocol.strategies import FieldLayout, Kind, layout, struct_class

_ROOTS: Final = ("admin", "consumer", "metadata", "producer", "sasl")

#: Fields it renames in some of its messages.
_RENAMED: Final = {
    "topic_authorized_operations": "authorized_operations",
    "cluster_authorized_operations": "authorized_operations",
}
#: Stands for "the default", where it has None for the default struct of a tagged field.
_TAGGED_DEFAULT: Final = object()


@cache
def classes() -> dict[str, Any]:
    """Its message classes, by the name of the schema."""
    for root in _ROOTS:
        importlib.import_module(f"kafka.protocol.{root}")
    known = {found.__name__: found for base in (ApiMessage, ApiData) for found in base.__subclasses__()}
    return known | {"RequestHeader": RequestHeader, "ResponseHeader": ResponseHeader}


def schema_texts() -> dict[str, str]:
    """The schemas in its wheel, by name."""
    resources = importlib.resources.files("kafka.protocol.schemas.resources")
    return {
        path.name.removesuffix(".json"): path.read_text() for path in resources.iterdir() if path.name.endswith(".json")
    }


def knows(kind: Kind, version: int) -> bool:
    """Has it this message, in this version?"""
    known = classes().get(kind.__name__)
    return known is not None and version in Versions.parse(known._json["validVersions"])


def encode(message: Message, version: int) -> bytes:
    """Its bytes for a message of the same values."""
    known = classes()[type(message).__name__]
    theirs = _to_theirs(type(message), message, version, known, known._struct)
    if issubclass(known, ApiHeader):
        return bytes(theirs.encode(flexible=_is_flexible_header(kind=type(message), version=version)))
    return bytes(theirs.encode(version=version, header=False))


def decode(kind: Kind, version: int, frame: bytes) -> Message:
    """What it reads from the bytes, as one of our messages."""
    known = classes()[kind.__name__]
    if issubclass(known, ApiHeader):
        theirs = known.decode(io.BytesIO(frame), flexible=_is_flexible_header(kind, version))
    elif issubclass(known, ApiMessage):
        # Not its ApiVersionsResponse.decode, which takes any answer with an error for one of version 0.
        theirs = ApiMessage.decode.__func__(known, frame, version=version)
    else:
        theirs = known.decode(frame, version=version, header=False)
    return _to_ours(kind, kind, version, theirs)


def _is_flexible_header(kind: Kind, version: int) -> bool:
    return version == max(kind.READERS)


def _pairs(struct: Kind, version: int, their_struct: Any) -> Iterator[tuple[FieldLayout, Any]]:
    """Our fields of this version beside theirs; both stand in the schema's order."""
    ours = layout(struct, version)
    theirs = [f for f in their_struct.fields.values() if f.for_version_q(version)]
    for field, their_field in zip(ours, theirs, strict=True):
        assert snake_case(their_field._name) in (field.name, _RENAMED.get(field.name))
        yield field, their_field


def _to_theirs(kind: Kind, struct: Message, version: int, known: Any, their_struct: Any) -> Any:
    values = {
        theirs.name: _values_to_theirs(kind, ours, version, getattr(struct, ours.name), theirs)
        for ours, theirs in _pairs(type(struct), version, their_struct)
    }
    return known(version=version, **values)


def _values_to_theirs(kind: Kind, field: FieldLayout, version: int, value: Any, theirs: Any) -> Any:
    if value is None:
        return None
    if struct_class(kind, field):
        if field.is_array:
            return [_to_theirs(kind, item, version, theirs.data_class, theirs) for item in value]
        if version in field.tagged_versions and value == type(value)():
            return None
        return _to_theirs(kind, value, version, theirs.data_class, theirs)
    if field.type == "uuid":
        return [_uuid(item) for item in value] if field.is_array else _uuid(value)
    return BitField.from_32_bit_field(value & 0xFFFFFFFF) if theirs.type_str == "bitfield" else value


def _uuid(value: bytes) -> uuid.UUID | None:
    return None if value == ZERO_UUID else uuid.UUID(bytes=value)


def _to_ours(kind: Kind, struct: Kind, version: int, theirs: Any) -> Message:
    values = {}
    for field, their_field in _pairs(struct, version, theirs._struct):
        value = _value_to_ours(kind, field, version, getattr(theirs, their_field.name), their_field)
        if value is not _TAGGED_DEFAULT:
            values[field.name] = value
    return struct(**values)


def _value_to_ours(kind: Kind, field: FieldLayout, version: int, value: Any, theirs: Any) -> Any:
    nested = struct_class(kind, field)
    if value is None:
        if field.type == "uuid":
            return ZERO_UUID
        if theirs.type_str == "bitfield":
            return -(2**31)
        return _TAGGED_DEFAULT if nested and version in field.tagged_versions else None
    if nested:
        return (
            [_to_ours(kind, nested, version, item) for item in value]
            if field.is_array
            else _to_ours(kind, nested, version, value)
        )
    if field.type == "uuid":
        return [ZERO_UUID if item is None else item.bytes for item in value] if field.is_array else value.bytes
    if theirs.type_str == "bitfield":
        bits = BitField.to_32_bit_field(value)
        return bits if bits < 2**31 else bits - 2**32
    return value

"""kafka-python's codec: it interprets the schemas its wheel carries, 52 of the APIs.

What it sees differently, each for a reason of its own:

- an id of zeros is None there; authorized operations are a set of bits, and the bit of the sign alone is None;
- a tagged struct with default values is None there;
- tags it does not know are dropped when it writes, and refused inside a tagged struct, so it is asked without them.
"""

from __future__ import annotations

import importlib
import importlib.resources
import io
import uuid
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, Final

from kafka.protocol.api_data import ApiData
from kafka.protocol.api_header import ApiHeader, RequestHeader, ResponseHeader
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.codecs import BitField

from ottla.protocol.generate.schema import Versions, snake_case
from ottla.protocol.primitives import ZERO_UUID, Message
from tests.protocol.peers import each
from tests.protocol.strategies import FieldLayout, Kind, layout, struct_class

_ROOTS: Final = ("admin", "consumer", "metadata", "producer", "sasl")

#: Fields it names otherwise in some of its messages, or that Kafka has renamed since.
_RENAMED: Final = {
    "topic_authorized_operations": "authorized_operations",
    "cluster_authorized_operations": "authorized_operations",
    "generation_id_or_member_epoch": "generation_id",
}


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
        path.name.removesuffix(".json"): path.read_text(encoding="utf-8")
        for path in resources.iterdir()
        if path.name.endswith(".json")
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
    values = {}
    for ours, theirs in _pairs(type(struct), version, their_struct):
        value = getattr(struct, ours.name)
        is_tagged = version in ours.tagged_versions
        if not struct_class(kind, ours):
            values[theirs.name] = each(ours, value, partial(_value_to_theirs, theirs.type_str))
        elif not (is_tagged and value == type(value)()):
            to_theirs = partial(_to_theirs, kind, version=version, known=theirs.data_class, their_struct=theirs)
            values[theirs.name] = each(ours, value, to_theirs)
    return known(version=version, **values)


def _value_to_theirs(their_type: str, value: Any) -> Any:
    match their_type.removeprefix("[]"):
        case "uuid":
            return None if value == ZERO_UUID else uuid.UUID(bytes=value)
        case "bitfield":
            return BitField.from_32_bit_field(value & 0xFFFFFFFF)
    return value


def _to_ours(kind: Kind, struct: Kind, version: int, theirs: Any) -> Message:
    values = {}
    for ours, their_field in _pairs(struct, version, theirs._struct):
        value = getattr(theirs, their_field.name)
        nested = struct_class(kind, ours)
        is_tagged = version in ours.tagged_versions
        if nested is None:
            values[ours.name] = _values_to_ours(ours, their_field.type_str, value)
        elif not (is_tagged and value is None):
            values[ours.name] = each(ours, value, partial(_to_ours, kind, nested, version))
    return struct(**values)


def _values_to_ours(field: FieldLayout, their_type: str, value: Any) -> Any:
    match their_type.removeprefix("[]"):
        case "uuid" if field.is_array:
            return [_uuid_to_ours(item) for item in value]
        case "uuid":
            return _uuid_to_ours(value)
        case "bitfield":
            bits = BitField.to_32_bit_field({31} if value is None else value)
            return bits if bits < 2**31 else bits - 2**32
    return value


def _uuid_to_ours(value: uuid.UUID | None) -> bytes:
    return ZERO_UUID if value is None else value.bytes

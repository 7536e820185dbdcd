"""Records of the internal topics as JSON.

    key      {"type":"1","data":{"group":"billing","topic":"orders","partition":0}}
    value    {"version":"4","data":{"offset":42,…}}

Names are Kafka's. What a version doesn't have is left out, and so is a tagged field at its default. Bytes are base64,
and ids are written as everywhere else in Kafka.

A table says for each topic which messages its record types are. Kafka: DumpLogSegments.CoordinatorRecordMessageParser,
and the generated …JsonConverter classes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ottla.protocol.messages.group_metadata_key import GroupMetadataKey
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.protocol.messages.legacy_offset_commit_key import LegacyOffsetCommitKey
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.messages.transaction_log_key import TransactionLogKey
from ottla.protocol.messages.transaction_log_value import TransactionLogValue
from ottla.protocol.primitives import DecodeError, Message

#: Record type → the messages in its key and in its value.
RecordTypes: TypeAlias = Mapping[int, tuple[type[Message], type[Message]]]

OFFSETS: Final[RecordTypes] = {
    0: (LegacyOffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
}
TRANSACTIONS: Final[RecordTypes] = {0: (TransactionLogKey, TransactionLogValue)}

_PREFIX_BYTES: Final = 2
_KEY_VERSION: Final = 0
#: What a tombstone shows for its value.
DELETED: Final = "<DELETE>"


class UnreadableError(ValueError):
    """The record does not belong into its topic. The text says why."""


class UnknownTypeError(ValueError):
    """The record is of a type that is not known here."""

    def __init__(self, record_type: int) -> None:
        super().__init__(f"record type {record_type} is unknown")
        self.record_type = record_type


def decoded(key: bytes | None, value: bytes | None, types: RecordTypes) -> tuple[str, str]:
    """A record's key and value. Raises `UnreadableError` or `UnknownTypeError`."""
    if key is None:
        raise UnreadableError("it has no key")
    record_type = _prefix(key, "key")
    if record_type not in types:
        raise UnknownTypeError(record_type)
    key_message, value_message = types[record_type]
    shown_key = _json({"type": str(record_type), "data": _decode(key_message, key, _KEY_VERSION)})
    if value is None:
        return shown_key, DELETED
    version = _prefix(value, "value")
    return shown_key, _json({"version": str(version), "data": _decode(value_message, value, version)})


def _prefix(data: bytes, what: str) -> int:
    if len(data) < _PREFIX_BYTES:
        raise UnreadableError(f"its {what} has {len(data)} bytes, too few for its type")
    return int.from_bytes(data[:_PREFIX_BYTES], signed=True)


def _decode(kind: type[Message], data: bytes, version: int) -> dict[str, Any]:
    if version not in kind.READERS:
        raise UnreadableError(f"{kind.__name__} v{version} is unknown")
    try:
        message = kind.decode(data, version, _PREFIX_BYTES)
    except DecodeError as error:
        raise UnreadableError(f"its {kind.__name__} v{version} can't be read: {error}") from None
    return fields(message, version)


def fields(message: Message, version: int) -> dict[str, Any]:
    """The fields of a message in this version, by Kafka's names."""
    fresh = type(message)()
    shown = {}
    for entry in message.LAYOUT:
        name, kind, versions, *rest = entry.split()
        if kind == "tags" or not _has_version(versions, version):
            continue
        value = getattr(message, name)
        if "tag" in rest and value == getattr(fresh, name):
            continue
        shown[_camel_case(name)] = _plain(value, kind.removeprefix("[]"), version)
    return shown


def _plain(value: Any, kind: str, version: int) -> Any:
    """A value as JSON has it."""
    match value:
        case list():
            return [_plain(element, kind, version) for element in value]
        case Message():
            return fields(value, version)
        case bytes() if kind == "uuid":
            return base64.urlsafe_b64encode(value).decode().rstrip("=")
        case bytes():
            return base64.b64encode(value).decode()
    return value


def _has_version(versions: str, version: int) -> bool:
    """Versions are written as `3`, `1-4` or `3+`."""
    first, _, last = versions.partition("-")
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    return int(first) <= version <= int(last or first)


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

"""Committed offsets as records of __consumer_offsets, written and read.

    key                                   value
    int16 1, group, topic, partition      int16 4, a committed offset; int16 1 if it has an expiry of its own

Type 0 is an older name of type 1. There may be a hundred thousand of them to read and every commit writes some, so the
usual forms are put together and taken apart here: in a third of the time that the generated codec takes, and a test
holds the two to the same bytes.

Kafka: GroupCoordinatorRecordHelpers.newOffsetCommitRecord, OffsetAndMetadata.fromRecord.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.coordinator.offsets.committed import NO_EXPIRY, CommittedOffset
from ottla.coordinator.runtime.records import INT16, decode, prefix
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.primitives import ZERO_UUID, unsigned_varint

if TYPE_CHECKING:
    from ottla.coordinator.runtime.records import Record

_ANCIENT_OFFSET: Final = 0
_OFFSET: Final = 1
OFFSET_TYPES: Final = (_ANCIENT_OFFSET, _OFFSET)

_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 4
_VALUE_WITH_EXPIRY_VERSION: Final = 1
_VALUE_PREFIX: Final = INT16.pack(_VALUE_VERSION)
_VALUE_WITH_EXPIRY_PREFIX: Final = INT16.pack(_VALUE_WITH_EXPIRY_VERSION)

_pack_type_length = Struct(">hh").pack
_pack_length = INT16.pack
_pack_int32 = Struct(">i").pack
_pack_version_offset_epoch = Struct(">hqi").pack
_pack_timestamp = Struct(">q").pack
#: The usual value: version, offset, leader epoch, no metadata, timestamp, topic id.
_pack_usual_value = Struct(">hqiBq3s16s").pack
_NO_METADATA: Final = 1
_NO_TAGS: Final = b"\x00"
#: One tagged field: tag 0, sixteen bytes.
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"

_unpack_length = INT16.unpack_from
_unpack_int32 = Struct(">i").unpack_from
_unpack_version_offset_epoch = Struct(">hqi").unpack_from
_unpack_timestamp = Struct(">q").unpack_from
#: In an offset's value, the length of its metadata as a varint, which has further bytes from 0x80 on.
_METADATA_AT: Final = 14
_LONG_VARINT: Final = 0x80
_TOPIC_ID_BYTES: Final = 19

#: Groups commit for the same topics again and again; of so many, the beginning of their keys is not made anew. But for
#: those with longer ids: a thousand ids of 32 KiB are not to be remembered.
_KEY_BEGINNINGS_MAX: Final = 1_000
_REMEMBERED_ID_CHARACTERS_MAX: Final = 256

#: What an offset record is about: group id, topic, partition.
OffsetPlace: TypeAlias = tuple[str, str, int]


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def offset_record(group_id: str, topic: str, partition: int, committed: CommittedOffset) -> Record:
    """A committed offset. With an expiry of its own it takes an old form, which has no leader epoch and topic id."""
    key = _offset_key(group_id, topic, partition)
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return key, _VALUE_WITH_EXPIRY_PREFIX + _offset_value_with_expiry(committed)
    topic_id = committed.topic_id
    if not committed.metadata and topic_id != ZERO_UUID:
        return key, _pack_usual_value(
            _VALUE_VERSION,
            committed.offset,
            committed.leader_epoch,
            _NO_METADATA,
            committed.commit_timestamp_ms,
            _TOPIC_ID_TAG,
            topic_id,
        )
    metadata = committed.metadata.encode()
    return key, (
        _pack_version_offset_epoch(_VALUE_VERSION, committed.offset, committed.leader_epoch)
        + unsigned_varint(len(metadata) + 1)
        + metadata
        + _pack_timestamp(committed.commit_timestamp_ms)
        + (_NO_TAGS if topic_id == ZERO_UUID else _TOPIC_ID_TAG + topic_id)
    )


def _offset_value_with_expiry(committed: CommittedOffset) -> bytes:
    value = OffsetCommitValue(
        committed.offset,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
    )
    return value.encode(_VALUE_WITH_EXPIRY_VERSION)


def offset_tombstone(group_id: str, topic: str, partition: int) -> Record:
    return _offset_key(group_id, topic, partition), None


def _offset_key(group_id: str, topic: str, partition: int) -> bytes:
    is_remembered = len(group_id) <= _REMEMBERED_ID_CHARACTERS_MAX
    return (_remembered_beginning if is_remembered else _key_beginning)(group_id, topic) + _pack_int32(partition)


def _key_beginning(group_id: str, topic: str) -> bytes:
    """What the keys of a group's offsets in one topic have in common: all but the partition."""
    group, name = group_id.encode(), topic.encode()
    return _pack_type_length(_OFFSET, len(group)) + group + _pack_length(len(name)) + name


_remembered_beginning: Final = lru_cache(_KEY_BEGINNINGS_MAX)(_key_beginning)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_place(key: bytes) -> OffsetPlace:
    """What an offset record is about, by its key."""
    try:
        group_end = 4 + _unpack_length(key, 2)[0]
        topic_end = group_end + 2 + _unpack_length(key, group_end)[0]
    except struct.error:
        group_end = topic_end = -1
    if 4 <= group_end <= topic_end - 2 == len(key) - 6:
        group, topic = key[4:group_end], key[group_end + 2 : topic_end]
        return group.decode("utf-8", "replace"), topic.decode("utf-8", "replace"), _unpack_int32(key, topic_end)[0]
    decoded = decode(OffsetCommitKey, key, _KEY_VERSION)
    return decoded.group, decoded.topic, decoded.partition


def read_offset(value: bytes) -> CommittedOffset:
    """A committed offset, from a record's value."""
    if value[:2] == _VALUE_PREFIX and len(value) > _METADATA_AT and 0 < value[_METADATA_AT] < _LONG_VARINT:
        metadata_end = _METADATA_AT + value[_METADATA_AT]
        tags = value[metadata_end + 8 :]
        has_topic_id = len(tags) == _TOPIC_ID_BYTES and tags[:3] == _TOPIC_ID_TAG
        if has_topic_id or tags == _NO_TAGS:
            _, offset, leader_epoch = _unpack_version_offset_epoch(value)
            return CommittedOffset(
                offset,
                leader_epoch,
                value[_METADATA_AT + 1 : metadata_end].decode("utf-8", "replace"),
                _unpack_timestamp(value, metadata_end)[0],
                NO_EXPIRY,
                tags[3:] if has_topic_id else ZERO_UUID,
            )
    read = decode(OffsetCommitValue, value, prefix(value, "value"))
    return CommittedOffset(
        read.offset, read.leader_epoch, read.metadata, read.commit_timestamp, read.expire_timestamp, read.topic_id
    )

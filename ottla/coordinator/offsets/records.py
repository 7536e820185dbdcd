"""The group log: what is written of a group to __consumer_offsets, and how groups come back from it.

    key                                   value
    int16 2, group                        int16 3, the group's generation, its members and their assignments
    int16 1, group, topic, partition      int16 4, a committed offset; int16 1 if it has an expiry of its own
    either                                null, a tombstone: it is gone

The last record of a key wins, so the log can be compacted. Offsets change by the same functions live and on replay. A
group's own record is written after the fact and not replayed on the live group, and says less than it: a generation
gets there only with the leader's assignment. Lost with a node are pending ids, parked requests, a rebalance under
way, and protocols other than the chosen one. Members come back in Stable with their last assignment, if only to find
out that somebody is missing.

Kafka: GroupCoordinatorRecordHelpers, GroupCoordinatorRecordSerde, and replay in GroupMetadataManager and
OffsetMetadataManager.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.members import Member, add
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import subscribed_topics
from ottla.coordinator.offsets.pending import OffsetPlace, PendingOffsets
from ottla.coordinator.offsets.store import NO_EXPIRY, CommittedOffset, drop_offset, keep_offset
from ottla.protocol.messages.group_metadata_key import GroupMetadataKey
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.primitives import STRING_BYTES_MAX, ZERO_UUID, DecodeError, Message, unsigned_varint
from ottla.protocol.records import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.runtime.effects import Record

_ANCIENT_OFFSET: Final = 0
_OFFSET: Final = 1
_GROUP: Final = 2
_OFFSET_TYPES: Final = frozenset({_ANCIENT_OFFSET, _OFFSET})

_KEY_VERSION: Final = 0
_GROUP_VALUE_VERSION: Final = 3
_OFFSET_VALUE_VERSION: Final = 4
_OFFSET_VALUE_WITH_EXPIRY_VERSION: Final = 1

_INT16: Final = Struct(">h")
_GROUP_PREFIX: Final = _INT16.pack(_GROUP)
_OFFSET_VALUE_PREFIX: Final = _INT16.pack(_OFFSET_VALUE_VERSION)
_GROUP_VALUE_PREFIX: Final = _INT16.pack(_GROUP_VALUE_VERSION)
_OFFSET_VALUE_WITH_EXPIRY_PREFIX: Final = _INT16.pack(_OFFSET_VALUE_WITH_EXPIRY_VERSION)

_pack_type_length = Struct(">hh").pack
_pack_length = _INT16.pack
_pack_int32 = Struct(">i").pack
_pack_version_offset_epoch = Struct(">hqi").pack
_pack_timestamp = Struct(">q").pack
_NO_TAGS: Final = b"\x00"
#: One tagged field: tag 0, sixteen bytes.
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"

_unpack_length = _INT16.unpack_from
_unpack_int32 = Struct(">i").unpack_from
_unpack_version_offset_epoch = Struct(">hqi").unpack_from
_unpack_timestamp = Struct(">q").unpack_from
#: In an offset's value, the length of its metadata as a varint, which has further bytes from 0x80 on.
_METADATA_AT: Final = 14
_LONG_VARINT: Final = 0x80
_TOPIC_ID_BYTES: Final = 19

_UTF8_BYTES_MAX: Final = 3  # of a UTF-16 unit

M = TypeVar("M", bound=Message)


class CorruptRecordError(ValueError):
    """A record of the group log that can't be read: the partition can't be loaded."""


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_writable(text: str) -> bool:
    """Whether a string that a client sent fits into a record: what its bytes were may have grown by replacements."""
    return len(text) * _UTF8_BYTES_MAX <= STRING_BYTES_MAX or len(text.encode()) <= STRING_BYTES_MAX


def group_record(group: Group, assignments: Mapping[str, bytes] | None = None) -> Record:
    """The group as it is; `assignments` by member id instead of those its members have, which default to none."""
    protocol_name = group.protocol_name
    value = GroupMetadataValue(
        group.protocol_type or "",
        group.generation_id,
        protocol_name,
        group.leader_id,
        -1 if group.state_timestamp_ms is None else group.state_timestamp_ms,
        [
            GroupMetadataValue.MemberMetadata(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.metadata(protocol_name or "") or b"",
                member.assignment if assignments is None else assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ],
    )
    return _group_key(group.group_id), _GROUP_VALUE_PREFIX + value.encode(_GROUP_VALUE_VERSION)


def new_group_record(group: Group) -> Record:
    """A group that was just created, as if nobody had joined yet. Kafka: newEmptyGroupMetadataRecord."""
    timestamp_ms = -1 if group.state_timestamp_ms is None else group.state_timestamp_ms
    value = GroupMetadataValue("", 0, None, None, timestamp_ms)
    return _group_key(group.group_id), _GROUP_VALUE_PREFIX + value.encode(_GROUP_VALUE_VERSION)


def group_tombstone(group_id: str) -> Record:
    return _group_key(group_id), None


def offset_record(group_id: str, topic: str, partition: int, committed: CommittedOffset) -> Record:
    """A committed offset. With an expiry of its own it takes an old form, which has no leader epoch and topic id.

    Every commit comes this way, so the usual form is put together here: in a third of the time that the generated codec
    takes, and a test holds the two to the same bytes.
    """
    key = _offset_key(group_id, topic, partition)
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return key, _OFFSET_VALUE_WITH_EXPIRY_PREFIX + _offset_value_with_expiry(committed)
    metadata = committed.metadata.encode()
    topic_id = committed.topic_id
    return key, (
        _pack_version_offset_epoch(_OFFSET_VALUE_VERSION, committed.offset, committed.leader_epoch)
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
    return value.encode(_OFFSET_VALUE_WITH_EXPIRY_VERSION)


def offset_tombstone(group_id: str, topic: str, partition: int) -> Record:
    return _offset_key(group_id, topic, partition), None


def _group_key(group_id: str) -> bytes:
    return _GROUP_PREFIX + GroupMetadataKey(group_id).encode(_KEY_VERSION)


def _offset_key(group_id: str, topic: str, partition: int) -> bytes:
    group, name = group_id.encode(), topic.encode()
    return _pack_type_length(_OFFSET, len(group)) + group + _pack_length(len(name)) + name + _pack_int32(partition)


# ── Replaying ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Replay:
    """Groups as they come out of a partition of the log, record by record."""

    config: GroupConfig
    now_ms: int
    groups: dict[str, Group] = field(default_factory=dict)
    unknown_types: Counter[int] = field(default_factory=Counter)
    """Records that were passed over, by their type: groups of kinds that are not kept here."""
    pending: PendingOffsets = field(default_factory=PendingOffsets)

    def apply_all(self, records: Iterable[Record]) -> None:
        for key, value in records:
            self.apply(key, value)

    def apply(self, key: bytes | None, value: bytes | None, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take in one record, perhaps of a producer's transaction. Raises `CorruptRecordError`."""
        if key is None:
            raise CorruptRecordError("a group record has no key")
        record_type = _prefix(key, "key")
        if record_type in _OFFSET_TYPES:
            self._apply_offset(_offset_place(key), value, producer_id)
        elif record_type == _GROUP:
            self._apply_group(_decode(GroupMetadataKey, key, _KEY_VERSION).group, value)
        else:
            self.unknown_types[record_type] += 1

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """A producer's transaction is over: the offsets it committed count now, or never."""
        for (group_id, topic, partition), committed in self.pending.end(producer_id, is_commit=is_commit):
            self._keep(group_id, topic, partition, committed)

    def _apply_offset(self, place: OffsetPlace, value: bytes | None, producer_id: int) -> None:
        if value is None:
            self.pending.overrule(place)
            if (group := self.groups.get(place[0])) is not None:
                drop_offset(group, *place[1:])
            return
        committed = _committed(value)
        if producer_id != NO_PRODUCER_ID:
            self.pending.add(producer_id, place, committed)
        else:
            if self.pending:
                self.pending.overrule(place)
            self._keep(*place, committed)

    def _keep(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        group = self.groups.get(group_id)
        if group is None:  # it never had members: a simple group
            group = self.groups[group_id] = Group(group_id, self.config, self.now_ms)
        keep_offset(group, topic, partition, committed)

    def _apply_group(self, group_id: str, value: bytes | None) -> None:
        former = self.groups.pop(group_id, None)
        if value is None:
            return  # its offsets went before it
        loaded = _decode(GroupMetadataValue, value, _prefix(value, "value"))
        group = Group(
            group_id,
            self.config,
            None if loaded.current_state_timestamp == -1 else loaded.current_state_timestamp,
            GroupState.STABLE if loaded.members else GroupState.EMPTY,
            loaded.generation,
            loaded.protocol_type or None,
            loaded.protocol,
            loaded.leader,
        )
        if loaded.members and loaded.protocol is None:
            raise CorruptRecordError(f"group {group_id} has members and no protocol")
        _require_distinct("member ids", [member.member_id for member in loaded.members])
        _require_distinct("instances", [m.group_instance_id for m in loaded.members if m.group_instance_id is not None])
        for member in loaded.members:
            add(group, _loaded_member(loaded, member), loaded.protocol_type)
        if group.leader_id not in group.members:
            group.leader_id = next(iter(group.members), None)
        group.subscribed_topics = subscribed_topics(group)
        if former is not None:
            group.offsets = former.offsets
        self.groups[group_id] = group


def _offset_place(key: bytes) -> OffsetPlace:
    """What an offset record is about. There may be a hundred thousand of them, so the usual form is read in place."""
    try:
        group_end = 4 + _unpack_length(key, 2)[0]
        topic_end = group_end + 2 + _unpack_length(key, group_end)[0]
    except struct.error:
        group_end = topic_end = -1
    if 4 <= group_end <= topic_end - 2 == len(key) - 6:
        group, topic = key[4:group_end], key[group_end + 2 : topic_end]
        return group.decode("utf-8", "replace"), topic.decode("utf-8", "replace"), _unpack_int32(key, topic_end)[0]
    decoded = _decode(OffsetCommitKey, key, _KEY_VERSION)
    return decoded.group, decoded.topic, decoded.partition


def _committed(value: bytes) -> CommittedOffset:
    """A committed offset. The form that `offset_record` writes is read in place, as above."""
    if value[:2] == _OFFSET_VALUE_PREFIX and len(value) > _METADATA_AT and 0 < value[_METADATA_AT] < _LONG_VARINT:
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
    read = _decode(OffsetCommitValue, value, _prefix(value, "value"))
    return CommittedOffset(
        read.offset, read.leader_epoch, read.metadata, read.commit_timestamp, read.expire_timestamp, read.topic_id
    )


def _loaded_member(group: GroupMetadataValue, member: GroupMetadataValue.MemberMetadata) -> Member:
    return Member(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        member.session_timeout,
        member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout,
        [JoinGroupRequest.JoinGroupRequestProtocol(group.protocol or "", member.subscription)],
        member.assignment,
    )


def _require_distinct(what: str, ids: list[str]) -> None:
    if len(set(ids)) < len(ids):
        raise CorruptRecordError(f"a group record has the same {what} twice: {ids}")


def _prefix(data: bytes, what: str) -> int:
    if len(data) < _INT16.size:
        raise CorruptRecordError(f"the {what} of a group record has {len(data)} bytes, too few for its type")
    prefix: int = _INT16.unpack_from(data)[0]
    return prefix


def _decode(message: type[M], data: bytes, version: int) -> M:
    if version not in message.READERS:
        raise CorruptRecordError(f"{message.__name__} v{version} is not known here")
    try:
        return message.decode(data, version, _INT16.size)
    except DecodeError as error:
        raise CorruptRecordError(f"a group record can't be read: {error}") from error

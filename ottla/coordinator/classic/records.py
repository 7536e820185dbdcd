"""A classic group as a record of __consumer_offsets, written and read.

    key                 value
    int16 2, group      int16 3, the group's generation, its members and their assignments

A group's record is written after the fact and not replayed on the live group, and says less than it: a generation gets
there only with the leader's assignment. Lost with a node are pending ids, parked requests, a rebalance under way, and
protocols other than the chosen one. Members come back in Stable with their last assignment, if only to find out that
one of them is missing.

Kafka: GroupCoordinatorRecordHelpers.newGroupMetadataRecord, GroupMetadataManager.replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.member import Member
from ottla.coordinator.classic.members import add
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import subscribed_topics
from ottla.coordinator.runtime.records import INT16, CorruptRecordError, decode, prefix
from ottla.protocol.messages.group_metadata_key import GroupMetadataKey
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue
from ottla.protocol.messages.join_group import JoinGroupRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.runtime.records import Record

GROUP_TYPE: Final = 2

_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 3
_GROUP_PREFIX: Final = INT16.pack(GROUP_TYPE)
_VALUE_PREFIX: Final = INT16.pack(_VALUE_VERSION)


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    return _group_key(group.group_id), _VALUE_PREFIX + value.encode(_VALUE_VERSION)


def new_group_record(group: Group) -> Record:
    """A group that was just created, before its first member. Kafka: newEmptyGroupMetadataRecord."""
    timestamp_ms = -1 if group.state_timestamp_ms is None else group.state_timestamp_ms
    value = GroupMetadataValue("", 0, None, None, timestamp_ms)
    return _group_key(group.group_id), _VALUE_PREFIX + value.encode(_VALUE_VERSION)


def group_tombstone(group_id: str) -> Record:
    return _group_key(group_id), None


def _group_key(group_id: str) -> bytes:
    return _GROUP_PREFIX + GroupMetadataKey(group_id).encode(_KEY_VERSION)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_group_id(key: bytes) -> str:
    """The group id in the record's key."""
    return decode(GroupMetadataKey, key, _KEY_VERSION).group


def read_group(group_id: str, value: bytes, config: GroupConfig) -> Group:
    """The group as it comes back, from a record's value. Its offsets have records of their own."""
    read = decode(GroupMetadataValue, value, prefix(value, "value"))
    group = Group(
        group_id,
        config,
        None if read.current_state_timestamp == -1 else read.current_state_timestamp,
        GroupState.STABLE if read.members else GroupState.EMPTY,
        read.generation,
        read.protocol_type or None,
        read.protocol,
        read.leader,
    )
    if read.members and read.protocol is None:
        raise CorruptRecordError(f"group {group_id} has members and no protocol")
    _require_distinct("member ids", [member.member_id for member in read.members])
    _require_distinct("instances", [m.group_instance_id for m in read.members if m.group_instance_id is not None])
    for member in read.members:
        add(group, _loaded_member(read, member), read.protocol_type)
    if group.leader_id not in group.members:
        group.leader_id = next(iter(group.members), None)
    group.subscribed_topics = subscribed_topics(group)
    return group


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

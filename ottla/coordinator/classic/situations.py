"""The senders of requests: for each request, the situations its sender can be in, and how the group finds out which.

A situation says what the ids, the generation and the protocols in a request are to this group. What follows from it in
which state stands in `decisions`. The checks come in Kafka's order, and the first that fits counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic.protocols import fits
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import CONSUMER

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import JoinRequested, SyncRequested
    from ottla.coordinator.classic.group import Group
    from ottla.protocol.messages.leave_group import LeaveGroupRequest
    from ottla.protocol.messages.offset_commit import OffsetCommitRequest
    from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

_ID_FIRST: Final = 4


# ── Any member, and Heartbeat ─────────────────────────────────────────────────────────────────────────────────────────


class MemberSituation(Enum):
    """The sender of a request, as far as its member id, group instance id and generation tell."""

    UNKNOWN_INSTANCE = "a group instance id that no member has"
    FENCED_INSTANCE = "a group instance id that belongs to another member id"
    UNKNOWN_MEMBER = "an unknown or pending member id"
    OTHER_GENERATION = "a member, in another generation"
    CURRENT = "a member, in the group's generation"

    __hash__ = object.__hash__


#: The same, for nearly all senders: to find a member in its enum takes Python 3.11 as long as two calls.
_CURRENT: Final = MemberSituation.CURRENT


def situate(group: Group, member_id: str, group_instance_id: str | None, generation_id: int) -> MemberSituation:
    """The sender's situation. Kafka: ClassicGroup.validateMember, and the check of the generation that follows it."""
    if group_instance_id is not None:
        holder = group.static_members.get(group_instance_id)
        if holder is None:
            return MemberSituation.UNKNOWN_INSTANCE
        if holder != member_id:
            return MemberSituation.FENCED_INSTANCE
    if member_id not in group.members:
        return MemberSituation.UNKNOWN_MEMBER
    if generation_id != group.generation_id:
        return MemberSituation.OTHER_GENERATION
    return _CURRENT


# ── JoinGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class JoinSituation(Enum):
    """The sender of a JoinGroup. The first that fits counts."""

    GROUP_FULL = "not a member, and the group already has group.max.size members"
    OTHER_PROTOCOLS = "no protocols, another protocol type, or no protocol in common with the group"
    NEW_MEMBER = "no member id, v4+"
    NEW_MEMBER_BEFORE_V4 = "no member id, v0–v3"
    NEW_STATIC_MEMBER = "no member id, and a new group instance id"
    RETURNING_STATIC_MEMBER = "no member id, and a group instance id that a member has"
    PENDING_MEMBER = "a pending member id"
    PENDING_STATIC_MEMBER = "a pending member id, with a group instance id"
    UNKNOWN_INSTANCE = MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = "an unknown member id"
    LEADER_UNCHANGED = "the leader, with unchanged protocols"
    LEADER_CHANGED = "the leader, with changed protocols"
    FOLLOWER_UNCHANGED = "a follower, with unchanged protocols"
    FOLLOWER_CHANGED = "a follower, with changed protocols"

    __hash__ = object.__hash__


def situate_join(group: Group, event: JoinRequested) -> JoinSituation:
    """The situation of a JoinGroup's sender. The checks come in Kafka's order."""
    request = event.request
    if not _has_room(group, request.member_id):
        return JoinSituation.GROUP_FULL
    if not fits(group, request.protocol_type, request.protocols):
        return JoinSituation.OTHER_PROTOCOLS
    if not request.member_id:
        if request.group_instance_id is None:
            return JoinSituation.NEW_MEMBER if event.api_version >= _ID_FIRST else JoinSituation.NEW_MEMBER_BEFORE_V4
        if request.group_instance_id in group.static_members:
            return JoinSituation.RETURNING_STATIC_MEMBER
        return JoinSituation.NEW_STATIC_MEMBER
    if request.member_id in group.pending_joins:
        is_static = request.group_instance_id is not None
        return JoinSituation.PENDING_STATIC_MEMBER if is_static else JoinSituation.PENDING_MEMBER
    sender = situate(group, request.member_id, request.group_instance_id, group.generation_id)
    if sender is not MemberSituation.CURRENT:
        return _JOINING_STRANGERS[sender]
    is_leader = group.leader_id == request.member_id
    if group.members[request.member_id].protocols == request.protocols:
        return JoinSituation.LEADER_UNCHANGED if is_leader else JoinSituation.FOLLOWER_UNCHANGED
    return JoinSituation.LEADER_CHANGED if is_leader else JoinSituation.FOLLOWER_CHANGED


_JOINING_STRANGERS: Final[Mapping[MemberSituation, JoinSituation]] = {
    MemberSituation.UNKNOWN_INSTANCE: JoinSituation.UNKNOWN_INSTANCE,
    MemberSituation.FENCED_INSTANCE: JoinSituation.FENCED_INSTANCE,
    MemberSituation.UNKNOWN_MEMBER: JoinSituation.UNKNOWN_MEMBER,
}


def _has_room(group: Group, member_id: str) -> bool:
    """Whether group.max.size lets this one in. Kafka: acceptJoiningMember.

    While members join, those count that are back: so if the limit was lowered the last to come back find no room.
    """
    if group.state in {GroupState.EMPTY, GroupState.DEAD}:
        return True
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        is_back = member is not None and member.parked_join is not None
        return is_back or group.parked_joins < group.config.group_max_size
    return member is not None or len(group.members) < group.config.group_max_size


# ── SyncGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class SyncSituation(Enum):
    """The sender of a SyncGroup."""

    UNKNOWN_INSTANCE = MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = MemberSituation.UNKNOWN_MEMBER.value
    OTHER_GENERATION = MemberSituation.OTHER_GENERATION.value
    OTHER_PROTOCOL = "a member, with a protocol or protocol type that is not the group's"
    LEADER = "the leader"
    FOLLOWER = "a follower"

    __hash__ = object.__hash__


def situate_sync(group: Group, event: SyncRequested) -> SyncSituation:
    """The situation of a SyncGroup's sender. The checks come in Kafka's order."""
    request = event.request
    sender = situate(group, request.member_id, request.group_instance_id, request.generation_id)
    if sender is not MemberSituation.CURRENT:
        return _SYNCING_STRANGERS[sender]
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        return SyncSituation.OTHER_PROTOCOL
    return SyncSituation.LEADER if group.leader_id == request.member_id else SyncSituation.FOLLOWER


_SYNCING_STRANGERS: Final[Mapping[MemberSituation, SyncSituation]] = {
    MemberSituation.UNKNOWN_INSTANCE: SyncSituation.UNKNOWN_INSTANCE,
    MemberSituation.FENCED_INSTANCE: SyncSituation.FENCED_INSTANCE,
    MemberSituation.UNKNOWN_MEMBER: SyncSituation.UNKNOWN_MEMBER,
    MemberSituation.OTHER_GENERATION: SyncSituation.OTHER_GENERATION,
}


def _differ(theirs: str | None, ours: str | None) -> bool:
    return theirs is not None and ours is not None and theirs != ours


# ── LeaveGroup ────────────────────────────────────────────────────────────────────────────────────────────────────────


class LeaveSituation(Enum):
    """One member that a LeaveGroup names; it can name several."""

    INSTANCE = "no member id, and a group instance id that a member has"
    UNNAMED = "no member id, and no group instance id or an unknown one"
    PENDING_MEMBER = "a pending member id"
    UNKNOWN_INSTANCE = "a member id with " + MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = "a member id with " + MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = "an unknown member id"
    MEMBER = "a member"

    __hash__ = object.__hash__


def situate_leave(group: Group, identity: LeaveGroupRequest.MemberIdentity) -> LeaveSituation:
    """The situation of a member that is to leave."""
    if not identity.member_id:
        is_known = identity.group_instance_id in group.static_members
        return LeaveSituation.INSTANCE if is_known else LeaveSituation.UNNAMED
    if identity.member_id in group.pending_joins:
        return LeaveSituation.PENDING_MEMBER
    return _LEAVERS[situate(group, identity.member_id, identity.group_instance_id, group.generation_id)]


_LEAVERS: Final[Mapping[MemberSituation, LeaveSituation]] = {
    MemberSituation.UNKNOWN_INSTANCE: LeaveSituation.UNKNOWN_INSTANCE,
    MemberSituation.FENCED_INSTANCE: LeaveSituation.FENCED_INSTANCE,
    MemberSituation.UNKNOWN_MEMBER: LeaveSituation.UNKNOWN_MEMBER,
    MemberSituation.CURRENT: LeaveSituation.MEMBER,
}


# ── OffsetCommit ──────────────────────────────────────────────────────────────────────────────────────────────────────


class CommitSituation(Enum):
    """The sender of a commit."""

    WITHOUT_GENERATION = "generation < 0, and the group is Empty or the request has no member"
    UNKNOWN_INSTANCE = MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = MemberSituation.UNKNOWN_MEMBER.value
    OTHER_GENERATION = MemberSituation.OTHER_GENERATION.value
    CURRENT = MemberSituation.CURRENT.value

    __hash__ = object.__hash__


def situate_commit(group: Group, request: OffsetCommitRequest | TxnOffsetCommitRequest) -> CommitSituation:
    """The situation of a commit's sender. Kafka: ClassicGroup.validateOffsetCommit."""
    generation_id = request.generation_id_or_member_epoch
    if generation_id < 0:
        names_nobody = not request.member_id and request.group_instance_id is None
        if names_nobody or group.state is GroupState.EMPTY:
            return CommitSituation.WITHOUT_GENERATION
    return _COMMITTERS[situate(group, request.member_id, request.group_instance_id, generation_id)]


_COMMITTERS: Final[Mapping[MemberSituation, CommitSituation]] = {
    situation: CommitSituation[situation.name] for situation in MemberSituation
}


# ── OffsetDelete, and expiry ──────────────────────────────────────────────────────────────────────────────────────────


class GroupKind(Enum):
    """What a group's protocol type makes of it."""

    CONSUMERS = 'protocol type "consumer"'
    OTHERS = "another protocol type, or none"

    __hash__ = object.__hash__


def situate_offset_delete(group: Group) -> GroupKind:
    """The kind of the group that offsets are to be deleted of."""
    return GroupKind.CONSUMERS if group.protocol_type == CONSUMER else GroupKind.OTHERS


class ExpirySituation(Enum):
    """A group, as far as its offsets may expire."""

    SIMPLE = "no protocol type (no member ever joined)"
    CONSUMERS = 'protocol type "consumer", subscribed topics known; for topics without a subscriber'
    OTHERS = "another protocol type, or subscribed topics unknown"

    __hash__ = object.__hash__


def situate_expiry(group: Group) -> ExpirySituation:
    """The situation of a group that has offsets."""
    if group.protocol_type is None:
        return ExpirySituation.SIMPLE
    is_known = group.protocol_type == CONSUMER and group.subscribed_topics is not None
    return ExpirySituation.CONSUMERS if is_known else ExpirySituation.OTHERS

"""The tables: what each request is answered in which state of the group, and from when on offsets expire.

A request's answer depends on two things: the group's state, and the *situation* of its sender: what the ids, the
generation and the protocols in the request are to this group. Every table below is total over both. The code looks
answers up here and nowhere else; docs/groups.md is printed from it; the tests walk every cell.

A cell is an `ErrorCode`, which is the whole answer, or a step: something to do, done by the module of that request.

Nothing here knows sockets, clocks or bytes. Kafka: the classicGroup* methods of GroupMetadataManager,
OffsetMetadataManager, ClassicGroup.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias, TypeVar

from ottla.coordinator.classic.situations import (
    CommitSituation,
    ExpirySituation,
    GroupKind,
    JoinSituation,
    LeaveSituation,
    MemberSituation,
    SyncSituation,
)
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.offsets.expiry import Expiry
from ottla.protocol.errors import ErrorCode

Situation = TypeVar("Situation", bound=Enum)
Cell = TypeVar("Cell")
Table: TypeAlias = Mapping[GroupState, Mapping[Situation, Cell]]

_EMPTY = GroupState.EMPTY
_PREPARING = GroupState.PREPARING_REBALANCE
_COMPLETING = GroupState.COMPLETING_REBALANCE
_STABLE = GroupState.STABLE
_DEAD = GroupState.DEAD
_E = ErrorCode

_STRANGER: Final = {
    MemberSituation.UNKNOWN_INSTANCE: _E.UNKNOWN_MEMBER_ID,
    MemberSituation.FENCED_INSTANCE: _E.FENCED_INSTANCE_ID,
    MemberSituation.UNKNOWN_MEMBER: _E.UNKNOWN_MEMBER_ID,
}


def _all_alike(situations: type[Situation], cell: Cell) -> dict[Situation, Cell]:
    return dict.fromkeys(situations, cell)


# ── Heartbeat and OffsetCommit ────────────────────────────────────────────────────────────────────────────────────────


class Answer(NamedTuple):
    """An answer that may also move the session's deadline to now + session_timeout_ms."""

    error: ErrorCode
    keeps_session: bool = False


def _answers(current: Answer) -> dict[MemberSituation, Answer]:
    row = {situation: Answer(error) for situation, error in _STRANGER.items()}
    return {
        **row,
        MemberSituation.OTHER_GENERATION: Answer(_E.ILLEGAL_GENERATION),
        MemberSituation.CURRENT: current,
    }


#: Kafka: GroupMetadataManager.classicGroupHeartbeatToClassicGroup, validateClassicGroupHeartbeat.
HEARTBEAT: Final[Table[MemberSituation, Answer]] = {
    _EMPTY: _answers(Answer(_E.UNKNOWN_MEMBER_ID)),
    # A member that beats while it makes up its mind to rejoin is alive: the answer calls it back, the session goes on.
    _PREPARING: _answers(Answer(_E.REBALANCE_IN_PROGRESS, keeps_session=True)),
    # Consumers beat between JoinGroup and SyncGroup; that they have not synced yet is no error.
    _COMPLETING: _answers(Answer(_E.NONE, keeps_session=True)),
    _STABLE: _answers(Answer(_E.NONE, keeps_session=True)),
    _DEAD: _all_alike(MemberSituation, Answer(_E.COORDINATOR_NOT_AVAILABLE)),
}


def _commits(without_generation: ErrorCode, current: Answer) -> dict[CommitSituation, Answer]:
    row = {CommitSituation[situation.name]: answer for situation, answer in _answers(current).items()}
    return {CommitSituation.WITHOUT_GENERATION: Answer(without_generation), **row}


#: Kafka: ClassicGroup.validateOffsetCommit, OffsetMetadataManager.validateOffsetCommit.
OFFSET_COMMIT: Final[Table[CommitSituation, Answer]] = {
    # A consumer without a group, or an admin: any offsets, as long as there are no members.
    _EMPTY: _commits(_E.NONE, Answer(_E.UNKNOWN_MEMBER_ID)),
    # The old generation may still commit what it has read.
    _PREPARING: _commits(_E.UNKNOWN_MEMBER_ID, Answer(_E.NONE, keeps_session=True)),
    _COMPLETING: _commits(_E.UNKNOWN_MEMBER_ID, Answer(_E.REBALANCE_IN_PROGRESS)),
    _STABLE: _commits(_E.UNKNOWN_MEMBER_ID, Answer(_E.NONE, keeps_session=True)),
    _DEAD: _all_alike(CommitSituation, Answer(_E.COORDINATOR_NOT_AVAILABLE)),
}


_TXN_COMMITS: Final = {situation: answer.error for situation, answer in _commits(_E.NONE, Answer(_E.NONE)).items()}

#: TxnOffsetCommit: older producers say nothing of members, so the group's state is of no interest.
#: Kafka: ClassicGroup.validateOffsetCommit, OffsetMetadataManager.validateTransactionalOffsetCommit.
TXN_OFFSET_COMMIT: Final[Table[CommitSituation, ErrorCode]] = {
    _EMPTY: {**_TXN_COMMITS, CommitSituation.CURRENT: _E.UNKNOWN_MEMBER_ID},
    _PREPARING: _TXN_COMMITS,
    _COMPLETING: _TXN_COMMITS,
    _STABLE: _TXN_COMMITS,
    _DEAD: _all_alike(CommitSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── JoinGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class JoinStep(Enum):
    """What a JoinGroup that isn't refused does."""

    HAND_OUT_ID = "MEMBER_ID_REQUIRED with a new member id, which is then pending"
    ADD = "parked; the new member starts a rebalance"
    REPLACE = "the member gets a new id; parked, or answered when the new id is written"
    UPDATE = "parked; the member gets the request's protocols and timeouts, and a rebalance starts"
    REPEAT = "the current generation, at once"


_NEWCOMERS: Final[Mapping[JoinSituation, ErrorCode | JoinStep]] = {
    JoinSituation.GROUP_FULL: _E.GROUP_MAX_SIZE_REACHED,
    JoinSituation.OTHER_PROTOCOLS: _E.INCONSISTENT_GROUP_PROTOCOL,
    JoinSituation.NEW_MEMBER: JoinStep.HAND_OUT_ID,
    JoinSituation.NEW_MEMBER_BEFORE_V4: JoinStep.ADD,
    JoinSituation.NEW_STATIC_MEMBER: JoinStep.ADD,
    JoinSituation.RETURNING_STATIC_MEMBER: JoinStep.REPLACE,
    JoinSituation.PENDING_MEMBER: JoinStep.ADD,
    # Static members are never handed an id first, so Kafka knows no such id; an exception there.
    JoinSituation.PENDING_STATIC_MEMBER: _E.UNKNOWN_SERVER_ERROR,
    JoinSituation.UNKNOWN_INSTANCE: _E.UNKNOWN_MEMBER_ID,
    JoinSituation.FENCED_INSTANCE: _E.FENCED_INSTANCE_ID,
    JoinSituation.UNKNOWN_MEMBER: _E.UNKNOWN_MEMBER_ID,
}
_MEMBERS: Final = (
    JoinSituation.LEADER_UNCHANGED,
    JoinSituation.LEADER_CHANGED,
    JoinSituation.FOLLOWER_UNCHANGED,
    JoinSituation.FOLLOWER_CHANGED,
)

#: Kafka: GroupMetadataManager.classicGroupJoinToClassicGroup and the methods it calls.
JOIN: Final[Table[JoinSituation, ErrorCode | JoinStep]] = {
    _EMPTY: {
        **_NEWCOMERS,
        JoinSituation.RETURNING_STATIC_MEMBER: _E.UNKNOWN_SERVER_ERROR,  # an Empty group has none; an exception there
        **dict.fromkeys(_MEMBERS, _E.UNKNOWN_MEMBER_ID),
    },
    _PREPARING: {**_NEWCOMERS, **dict.fromkeys(_MEMBERS, JoinStep.UPDATE)},
    _COMPLETING: {
        **_NEWCOMERS,
        # Its first answer was probably lost.
        JoinSituation.LEADER_UNCHANGED: JoinStep.REPEAT,
        JoinSituation.FOLLOWER_UNCHANGED: JoinStep.REPEAT,
        JoinSituation.LEADER_CHANGED: JoinStep.UPDATE,
        JoinSituation.FOLLOWER_CHANGED: JoinStep.UPDATE,
    },
    _STABLE: {
        **_NEWCOMERS,
        # A leader that joins wants a rebalance: topics have changed that its metadata doesn't show.
        JoinSituation.LEADER_UNCHANGED: JoinStep.UPDATE,
        JoinSituation.LEADER_CHANGED: JoinStep.UPDATE,
        JoinSituation.FOLLOWER_UNCHANGED: JoinStep.REPEAT,
        JoinSituation.FOLLOWER_CHANGED: JoinStep.UPDATE,
    },
    _DEAD: _all_alike(JoinSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── SyncGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class SyncStep(Enum):
    """What a SyncGroup that isn't refused does."""

    PARK = "parked until the leader's assignment is written"
    ASSIGN = "parked; its assignment is written, then all members are answered"
    ANSWER = "the member's assignment, at once"


_REFUSED_SYNCS: Final[Mapping[SyncSituation, ErrorCode | SyncStep]] = {
    SyncSituation.UNKNOWN_INSTANCE: _E.UNKNOWN_MEMBER_ID,
    SyncSituation.FENCED_INSTANCE: _E.FENCED_INSTANCE_ID,
    SyncSituation.UNKNOWN_MEMBER: _E.UNKNOWN_MEMBER_ID,
    SyncSituation.OTHER_GENERATION: _E.ILLEGAL_GENERATION,
    SyncSituation.OTHER_PROTOCOL: _E.INCONSISTENT_GROUP_PROTOCOL,
}

#: Kafka: GroupMetadataManager.classicGroupSyncToClassicGroup, validateSyncGroup.
SYNC: Final[Table[SyncSituation, ErrorCode | SyncStep]] = {
    _EMPTY: _all_alike(SyncSituation, _E.UNKNOWN_MEMBER_ID),
    _PREPARING: {
        **_REFUSED_SYNCS,
        SyncSituation.LEADER: _E.REBALANCE_IN_PROGRESS,
        SyncSituation.FOLLOWER: _E.REBALANCE_IN_PROGRESS,
    },
    _COMPLETING: {
        **_REFUSED_SYNCS,
        SyncSituation.LEADER: SyncStep.ASSIGN,
        SyncSituation.FOLLOWER: SyncStep.PARK,
    },
    _STABLE: {**_REFUSED_SYNCS, SyncSituation.LEADER: SyncStep.ANSWER, SyncSituation.FOLLOWER: SyncStep.ANSWER},
    _DEAD: _all_alike(SyncSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── LeaveGroup ────────────────────────────────────────────────────────────────────────────────────────────────────────


class LeaveStep(Enum):
    """What a LeaveGroup that isn't refused does, member by member."""

    REMOVE_MEMBER = "NONE; the member is removed"
    REMOVE_PENDING = "NONE; the member id is forgotten"


_LEAVERS: Final[Mapping[LeaveSituation, ErrorCode | LeaveStep]] = {
    LeaveSituation.INSTANCE: LeaveStep.REMOVE_MEMBER,
    LeaveSituation.UNNAMED: _E.UNKNOWN_MEMBER_ID,
    LeaveSituation.PENDING_MEMBER: LeaveStep.REMOVE_PENDING,
    LeaveSituation.UNKNOWN_INSTANCE: _E.UNKNOWN_MEMBER_ID,
    LeaveSituation.FENCED_INSTANCE: _E.FENCED_INSTANCE_ID,
    LeaveSituation.UNKNOWN_MEMBER: _E.UNKNOWN_MEMBER_ID,
    LeaveSituation.MEMBER: LeaveStep.REMOVE_MEMBER,
}

#: Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup. In Dead the error is the whole request's.
LEAVE: Final[Table[LeaveSituation, ErrorCode | LeaveStep]] = {
    _EMPTY: _LEAVERS,
    _PREPARING: _LEAVERS,
    _COMPLETING: _LEAVERS,
    _STABLE: _LEAVERS,
    _DEAD: _all_alike(LeaveSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── Offsets and groups as a whole ─────────────────────────────────────────────────────────────────────────────────────


#: What OffsetDelete answers for the group; topics the group is subscribed to are refused one by one.
#: Kafka: ClassicGroup.validateOffsetDelete.
OFFSET_DELETE: Final[Table[GroupKind, ErrorCode]] = {
    _EMPTY: _all_alike(GroupKind, _E.NONE),
    _PREPARING: {GroupKind.CONSUMERS: _E.NONE, GroupKind.OTHERS: _E.NON_EMPTY_GROUP},
    _COMPLETING: {GroupKind.CONSUMERS: _E.NONE, GroupKind.OTHERS: _E.NON_EMPTY_GROUP},
    _STABLE: {GroupKind.CONSUMERS: _E.NONE, GroupKind.OTHERS: _E.NON_EMPTY_GROUP},
    _DEAD: _all_alike(GroupKind, _E.GROUP_ID_NOT_FOUND),
}

#: Kafka: ClassicGroup.validateDeleteGroup.
DELETE_GROUP: Final[Mapping[GroupState, ErrorCode]] = {
    _EMPTY: _E.NONE,
    _PREPARING: _E.NON_EMPTY_GROUP,
    _COMPLETING: _E.NON_EMPTY_GROUP,
    _STABLE: _E.NON_EMPTY_GROUP,
    _DEAD: _E.GROUP_ID_NOT_FOUND,
}


_EXPIRY_OF_MEMBERS: Final = {
    ExpirySituation.SIMPLE: Expiry.SINCE_COMMIT,
    ExpirySituation.CONSUMERS: Expiry.NEVER,
    ExpirySituation.OTHERS: Expiry.NEVER,
}

#: Kafka: ClassicGroup.offsetExpirationCondition.
EXPIRY: Final[Table[ExpirySituation, Expiry]] = {
    _EMPTY: {
        ExpirySituation.SIMPLE: Expiry.SINCE_COMMIT,
        ExpirySituation.CONSUMERS: Expiry.SINCE_EMPTY,
        ExpirySituation.OTHERS: Expiry.SINCE_EMPTY,
    },
    _PREPARING: _EXPIRY_OF_MEMBERS,
    _COMPLETING: _EXPIRY_OF_MEMBERS,
    _STABLE: {**_EXPIRY_OF_MEMBERS, ExpirySituation.CONSUMERS: Expiry.SINCE_COMMIT},
    _DEAD: _EXPIRY_OF_MEMBERS,
}

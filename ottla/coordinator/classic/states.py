"""The tables: in which states a group can be, what leads where, and what each request is answered in which state.

A request's answer depends on two things: the group's state, and the *situation* of whoever sent it: what the ids,
the generation and the protocols in the request are to this group. Every table below is total over both. The code looks
answers up here and nowhere else; docs/groups.md is printed from it; the tests walk every cell.

A cell is an `ErrorCode`, which is the whole answer, or a step: something to do, done by the module of that request.

                      ┌──────────── PreparingRebalance ◀───────────┐
                      │   ▲               │       ▲                │
       all have left  │   │ a member      │ all   │ a member       │ a member comes, leaves,
                      ▼   │ joins         ▼ are in│ comes, leaves  │ is silent, changed
                     Empty          CompletingRebalance ───────▶ Stable
                                                    the leader's assignment is written

Nothing here knows sockets, clocks or bytes. Kafka: ClassicGroupState, and the classicGroup* methods of
GroupMetadataManager, OffsetMetadataManager, ClassicGroup.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias, TypeVar

from ottla.protocol.errors import ErrorCode

Situation = TypeVar("Situation", bound=Enum)
Cell = TypeVar("Cell")
Table: TypeAlias = Mapping["GroupState", Mapping[Situation, Cell]]


class GroupState(Enum):
    """The states of a group, by the names that ListGroups and DescribeGroups show."""

    EMPTY = "Empty"
    """No members. It may have committed offsets, and members that were handed an id and have not come back yet."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waiting for the members to join; their JoinGroup requests are parked."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The new generation is known; waiting for the leader's assignment, with SyncGroup requests parked."""
    STABLE = "Stable"
    """Everybody can have an assignment."""
    DEAD = "Dead"
    """No longer here: deleted, or unloaded because another node coordinates it now."""

    __hash__ = object.__hash__  # Enum's own goes through the name, in Python; a heartbeat looks up two of these


_EMPTY = GroupState.EMPTY
_PREPARING = GroupState.PREPARING_REBALANCE
_COMPLETING = GroupState.COMPLETING_REBALANCE
_STABLE = GroupState.STABLE
_DEAD = GroupState.DEAD
_E = ErrorCode

#: Where a group can go from each state, and when. Kafka: ClassicGroupState.validPreviousStates.
TRANSITIONS: Final[Mapping[GroupState, Mapping[GroupState, str]]] = {
    _EMPTY: {
        _PREPARING: "a member joins",
        _DEAD: "DeleteGroups, nothing left to keep, or unloaded",
    },
    _PREPARING: {
        _COMPLETING: "all have joined, or the time is up",
        _EMPTY: "nobody is left",
        _DEAD: "unloaded",
    },
    _COMPLETING: {
        _STABLE: "the leader's assignment is written",
        _PREPARING: "a member comes, goes or changes, or the write fails",
        _DEAD: "unloaded",
    },
    _STABLE: {
        _PREPARING: "a member comes, goes or changes, or the leader rejoins",
        _DEAD: "unloaded",
    },
    _DEAD: {
        _DEAD: "",
    },
}

#: From where a rebalance can begin; in PreparingRebalance it has begun already.
CAN_REBALANCE: Final = frozenset(state for state, targets in TRANSITIONS.items() if _PREPARING in targets)


class MemberSituation(Enum):
    """Who a request comes from, as far as its member id, group instance id and generation tell."""

    UNKNOWN_INSTANCE = "a group instance id that no member has"
    FENCED_INSTANCE = "a group instance id that belongs to another member id"
    UNKNOWN_MEMBER = "a member id the group does not know, or has handed out only"
    OTHER_GENERATION = "a member, in another generation"
    CURRENT = "a member, in the group's generation"

    __hash__ = object.__hash__


_STRANGER: Final = {
    MemberSituation.UNKNOWN_INSTANCE: _E.UNKNOWN_MEMBER_ID,
    MemberSituation.FENCED_INSTANCE: _E.FENCED_INSTANCE_ID,
    MemberSituation.UNKNOWN_MEMBER: _E.UNKNOWN_MEMBER_ID,
}


def _everybody(situations: type[Situation], cell: Cell) -> dict[Situation, Cell]:
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
    _DEAD: _everybody(MemberSituation, Answer(_E.COORDINATOR_NOT_AVAILABLE)),
}


class CommitSituation(Enum):
    """Who commits offsets."""

    WITHOUT_GENERATION = "generation < 0, and the group is Empty or the request names no member"
    UNKNOWN_INSTANCE = MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = MemberSituation.UNKNOWN_MEMBER.value
    OTHER_GENERATION = MemberSituation.OTHER_GENERATION.value
    CURRENT = MemberSituation.CURRENT.value

    __hash__ = object.__hash__


def _commits(without_generation: ErrorCode, current: Answer) -> dict[CommitSituation, Answer]:
    row = {CommitSituation[situation.name]: answer for situation, answer in _answers(current).items()}
    return {CommitSituation.WITHOUT_GENERATION: Answer(without_generation), **row}


#: Kafka: ClassicGroup.validateOffsetCommit, OffsetMetadataManager.validateOffsetCommit.
OFFSET_COMMIT: Final[Table[CommitSituation, Answer]] = {
    # A consumer without a group, or an admin: any offsets, as long as nobody is a member.
    _EMPTY: _commits(_E.NONE, Answer(_E.UNKNOWN_MEMBER_ID)),
    # The old generation may still commit what it has read.
    _PREPARING: _commits(_E.UNKNOWN_MEMBER_ID, Answer(_E.NONE, keeps_session=True)),
    _COMPLETING: _commits(_E.UNKNOWN_MEMBER_ID, Answer(_E.REBALANCE_IN_PROGRESS)),
    _STABLE: _commits(_E.UNKNOWN_MEMBER_ID, Answer(_E.NONE, keeps_session=True)),
    _DEAD: _everybody(CommitSituation, Answer(_E.COORDINATOR_NOT_AVAILABLE)),
}


# ── JoinGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class JoinSituation(Enum):
    """Who joins. The first that fits counts."""

    GROUP_FULL = "the group has group.max.size members and this is none of them"
    OTHER_PROTOCOLS = "no protocol in common with the group, or another protocol type, or none at all"
    NEW_MEMBER = "no member id, v4+"
    NEW_MEMBER_BEFORE_V4 = "no member id, v0–v3"
    NEW_STATIC_MEMBER = "no member id, and a group instance id that is new"
    RETURNING_STATIC_MEMBER = "no member id, and a group instance id that a member has"
    PENDING_MEMBER = "a member id that was handed out"
    PENDING_STATIC_MEMBER = "a member id that was handed out, with a group instance id"
    UNKNOWN_INSTANCE = MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = "a member id the group does not know"
    LEADER_UNCHANGED = "the leader, with the protocols it has"
    LEADER_CHANGED = "the leader, with other protocols"
    FOLLOWER_UNCHANGED = "a follower, with the protocols it has"
    FOLLOWER_CHANGED = "a follower, with other protocols"

    __hash__ = object.__hash__


class JoinStep(Enum):
    """What a JoinGroup that isn't refused does."""

    HAND_OUT_ID = "MEMBER_ID_REQUIRED with a new member id, which is then pending"
    ADD = "parked; a new member, and so a rebalance"
    REPLACE = "the member's id is replaced by a new one; parked, or answered once that is written"
    UPDATE = "parked; the member has the request's protocols and timeouts, and there is a rebalance"
    REPEAT = "the current generation, at once"


_NEWCOMERS: Final[Mapping[JoinSituation, ErrorCode | JoinStep]] = {
    JoinSituation.GROUP_FULL: _E.GROUP_MAX_SIZE_REACHED,
    JoinSituation.OTHER_PROTOCOLS: _E.INCONSISTENT_GROUP_PROTOCOL,
    JoinSituation.NEW_MEMBER: JoinStep.HAND_OUT_ID,
    JoinSituation.NEW_MEMBER_BEFORE_V4: JoinStep.ADD,
    JoinSituation.NEW_STATIC_MEMBER: JoinStep.ADD,
    JoinSituation.RETURNING_STATIC_MEMBER: JoinStep.REPLACE,
    JoinSituation.PENDING_MEMBER: JoinStep.ADD,
    # Static members are never handed an id first, so this is nobody Kafka knows; an exception there.
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
    _DEAD: _everybody(JoinSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── SyncGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class SyncSituation(Enum):
    """Who syncs."""

    UNKNOWN_INSTANCE = MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = MemberSituation.UNKNOWN_MEMBER.value
    OTHER_GENERATION = MemberSituation.OTHER_GENERATION.value
    OTHER_PROTOCOL = "a member that names another protocol or protocol type than the group's"
    LEADER = "the leader"
    FOLLOWER = "a follower"

    __hash__ = object.__hash__


class SyncStep(Enum):
    """What a SyncGroup that isn't refused does."""

    PARK = "parked until the leader's assignment is written"
    ASSIGN = "parked; its assignment is written, and answers everybody"
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
    _EMPTY: _everybody(SyncSituation, _E.UNKNOWN_MEMBER_ID),
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
    _DEAD: _everybody(SyncSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── LeaveGroup ────────────────────────────────────────────────────────────────────────────────────────────────────────


class LeaveSituation(Enum):
    """Whom a LeaveGroup wants to see gone; it can name several."""

    INSTANCE = "no member id, and a group instance id that a member has"
    NOBODY = "no member id, and no group instance id, or one that no member has"
    PENDING_MEMBER = "a member id that was handed out"
    UNKNOWN_INSTANCE = "a member id with " + MemberSituation.UNKNOWN_INSTANCE.value
    FENCED_INSTANCE = "a member id with " + MemberSituation.FENCED_INSTANCE.value
    UNKNOWN_MEMBER = "a member id the group does not know"
    MEMBER = "a member"

    __hash__ = object.__hash__


class LeaveStep(Enum):
    """What a LeaveGroup that isn't refused does, member by member."""

    REMOVE_MEMBER = "NONE; the member is removed"
    REMOVE_PENDING = "NONE; the member id is forgotten"


_LEAVERS: Final[Mapping[LeaveSituation, ErrorCode | LeaveStep]] = {
    LeaveSituation.INSTANCE: LeaveStep.REMOVE_MEMBER,
    LeaveSituation.NOBODY: _E.UNKNOWN_MEMBER_ID,
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
    _DEAD: _everybody(LeaveSituation, _E.COORDINATOR_NOT_AVAILABLE),
}


# ── Offsets and groups as a whole ─────────────────────────────────────────────────────────────────────────────────────


class GroupKind(Enum):
    """What a group's protocol type makes of it."""

    CONSUMERS = 'protocol type "consumer"'
    OTHERS = "another protocol type, or none"

    __hash__ = object.__hash__


#: What OffsetDelete answers for the group; topics the group is subscribed to are refused one by one.
#: Kafka: ClassicGroup.validateOffsetDelete.
OFFSET_DELETE: Final[Table[GroupKind, ErrorCode]] = {
    _EMPTY: _everybody(GroupKind, _E.NONE),
    _PREPARING: {GroupKind.CONSUMERS: _E.NONE, GroupKind.OTHERS: _E.NON_EMPTY_GROUP},
    _COMPLETING: {GroupKind.CONSUMERS: _E.NONE, GroupKind.OTHERS: _E.NON_EMPTY_GROUP},
    _STABLE: {GroupKind.CONSUMERS: _E.NONE, GroupKind.OTHERS: _E.NON_EMPTY_GROUP},
    _DEAD: _everybody(GroupKind, _E.GROUP_ID_NOT_FOUND),
}

#: Kafka: ClassicGroup.validateDeleteGroup.
DELETE_GROUP: Final[Mapping[GroupState, ErrorCode]] = {
    _EMPTY: _E.NONE,
    _PREPARING: _E.NON_EMPTY_GROUP,
    _COMPLETING: _E.NON_EMPTY_GROUP,
    _STABLE: _E.NON_EMPTY_GROUP,
    _DEAD: _E.GROUP_ID_NOT_FOUND,
}


class Expiry(Enum):
    """From when on offsets.retention.minutes count for a committed offset."""

    NEVER = "it does not expire"
    SINCE_COMMIT = "since the commit"
    SINCE_EMPTY = "since the group became Empty"


class ExpirySituation(Enum):
    """Whose offsets may expire."""

    SIMPLE = "no protocol type: nobody ever joined"
    CONSUMERS = 'protocol type "consumer", subscribed topics known; of topics nobody subscribes to'
    OTHERS = "another protocol type, or subscribed topics unknown"

    __hash__ = object.__hash__


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

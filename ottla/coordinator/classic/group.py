"""A group: everything the coordinator knows about it, and what always holds.

A group is data. `step` changes it, with the functions of the modules beside this one, and nothing else does. What it
waits for stands in it as deadlines and parked requests, so that looking at a group tells what will happen next:

    members          by member id, in the order they came; Kafka's order is that of a hash map with random ids, so any
    static_members   group instance id -> member id
    pending_joins    ids handed out that have not joined yet -> until when they are waited for
    pending_syncs    the members that owe a SyncGroup in this generation
    rebalance        the rebalance under way, from its cause until all can have an assignment
    offsets          what was committed, which is the same for groups of every kind

`check` states the invariants. Kafka: ClassicGroup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ottla.coordinator.classic.states import CAN_REBALANCE, TRANSITIONS, GroupState
from ottla.coordinator.classic.timers import JOIN_TIMER, SYNC_TIMER, session_timer
from ottla.coordinator.offsets.store import Offsets
from ottla.events.kinds.event_kind import EventKind

if TYPE_CHECKING:
    from collections.abc import Container

    from ottla.coordinator.classic.member import Member
    from ottla.coordinator.config import GroupConfig
    from ottla.coordinator.notes import Cause


@dataclass(slots=True)
class InitialDelay:
    """The wait of a group's first rebalance."""

    delay_ms: int
    """How long the wait is that runs now."""
    remaining_ms: int
    """For how long it may be prolonged after that."""


@dataclass(slots=True)
class Rebalance:
    """A rebalance under way."""

    cause: Cause
    started_ms: int
    initial_delay: InitialDelay | None
    is_stuck: bool = False
    """Whether its members, though all there, have no protocol in common; it stays as it is until one of them goes."""


@dataclass(slots=True, eq=False)
class Group:
    """One classic group."""

    group_id: str
    config: GroupConfig
    state_timestamp_ms: int | None
    """Since when it is in its state, as a date; None: loaded from a record too old to say."""
    state: GroupState = GroupState.EMPTY
    generation_id: int = 0
    protocol_type: str | None = None
    """Of its members, or of the last it had; None: it never had any, it only keeps offsets (a *simple* group)."""
    protocol_name: str | None = None
    leader_id: str | None = None

    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_joins: dict[str, int] = field(default_factory=dict)
    pending_syncs: dict[str, None] = field(default_factory=dict)
    parked_joins: int = 0
    """How many members have a parked JoinGroup."""
    supported_protocols: dict[str, int] = field(default_factory=dict)
    """How often members list each protocol."""
    subscribed_topics: frozenset[str] | None = None
    """What its consumers read; None: unknown."""
    new_member_added: bool = False
    """Whether a member came since the initial delay began, so that the delay begins again."""

    rebalance: Rebalance | None = None
    join_deadline_ms: int | None = None
    sync_deadline_ms: int | None = None

    offsets: Offsets = field(default_factory=Offsets)

    is_unwritten: bool = False
    """Whether it was created just now, and no record says so yet."""
    notes_wanted: Container[EventKind] = frozenset()
    """Those of its notes that have a reader."""
    notes: int = 0
    """How many there were, made or not."""

    @property
    def can_rebalance(self) -> bool:
        return self.state in CAN_REBALANCE

    @property
    def has_all_joined(self) -> bool:
        """Whether no member is missing: every one has a parked JoinGroup and every id handed out has joined."""
        return self.parked_joins == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a rebalance waits for members: the longest that any of them asks for."""
        return max([0, *(member.rebalance_timeout_ms for member in self.members.values())])

    @property
    def deadlines(self) -> dict[str, int]:
        """When each timer of the group runs out that is running."""
        deadlines = {session_timer(member_id): deadline_ms for member_id, deadline_ms in self.pending_joins.items()}
        for member in self.members.values():
            if member.deadline_ms is not None:
                deadlines[member.timer_key] = member.deadline_ms
        if self.join_deadline_ms is not None:
            deadlines[JOIN_TIMER] = self.join_deadline_ms
        if self.sync_deadline_ms is not None:
            deadlines[SYNC_TIMER] = self.sync_deadline_ms
        return deadlines

    def move(self, state: GroupState, now_ms: int) -> None:
        """Change the state."""
        assert state in TRANSITIONS[self.state], f"{self.group_id}: from {self.state} to {state}"
        self.state = state
        self.state_timestamp_ms = now_ms

    def check(self) -> None:
        """Assert what holds after every step. It walks every member: for tests."""
        self._check_members()
        self._check_parked()
        self._check_timers()
        self.offsets.check()

    def _check_members(self) -> None:
        members = self.members
        assert all(member.member_id == member_id for member_id, member in members.items())
        assert (self.leader_id is None) == (not members), "there is a leader iff there are members"
        assert self.leader_id is None or self.leader_id in members, "the leader is a member"
        instances = {m.group_instance_id: m.member_id for m in members.values() if m.group_instance_id is not None}
        assert self.static_members == instances, "the instance map is exactly the static members"
        assert not members.keys() & self.pending_joins.keys(), "a pending id is no member"
        recount: dict[str, int] = {}
        for member in members.values():
            for protocol in member.protocols:
                recount[protocol.name] = recount.get(protocol.name, 0) + 1
        assert self.supported_protocols == recount, "the counts of protocols equal a recount"
        if self.state in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}:
            assert members, "a group with a generation has members"
            assert self.protocol_name is not None
            assert all(member.metadata(self.protocol_name) is not None for member in members.values()), (
                "every member supports the chosen protocol"
            )
        if self.state in {GroupState.EMPTY, GroupState.DEAD}:
            assert not members, f"a group that is {self.state.value} has no members"

    def _check_parked(self) -> None:
        members = self.members.values()
        parked_joins = sum(member.parked_join is not None for member in members)
        assert self.parked_joins == parked_joins, "the count of parked joins equals a recount"
        if any(member.parked_sync for member in members):
            assert self.state is GroupState.COMPLETING_REBALANCE, "a sync waits for the leader's, and nothing else"
        if self.state is GroupState.COMPLETING_REBALANCE:
            assert not parked_joins, "each JoinGroup was answered when the join phase was over"
        assert not any(member.is_new for member in members) or self.state is GroupState.PREPARING_REBALANCE
        if self.state is GroupState.COMPLETING_REBALANCE:
            owed = {member_id for member_id, member in self.members.items() if member.parked_sync is None}
            assert self.pending_syncs.keys() == owed, "a member that has not synced owes it"
        elif self.state is not GroupState.STABLE:
            assert not self.pending_syncs, f"no member owes a sync in {self.state.value}"

    def _check_timers(self) -> None:
        is_preparing = self.state is GroupState.PREPARING_REBALANCE
        is_completing = self.state is GroupState.COMPLETING_REBALANCE
        assert (self.rebalance is not None) == (is_preparing or is_completing), "a rebalance is under way, or it isn't"
        is_stuck = self.rebalance is not None and self.rebalance.is_stuck
        assert (self.join_deadline_ms is not None) == (is_preparing and not is_stuck), "Preparing has an end"
        assert (self.sync_deadline_ms is not None) == bool(self.pending_syncs), "syncs are owed until a deadline"
        for member in self.members.values():
            assert member.deadline_ms is not None or member.is_kept_alive, f"{member.member_id} would live for ever"

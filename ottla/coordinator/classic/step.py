"""One event in, effects out.

    effects = step(group, now_ms, event)

`step` changes the group and returns what is to be done, in order. It never waits, reads no clock, does no I/O, and
raises for nothing that a client can send. `now_ms` is the date: deadlines in effects are instants of the same clock.

For a group that does not exist `groups/refusals.py` answers. A group that is created starts as `Group(...,
is_unwritten=True)`, and its first event must be a JoinGroup without member id, or a commit without generation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.classic import events, offsets, rebalance
from ottla.coordinator.classic.describe import describe
from ottla.coordinator.classic.ending import unload
from ottla.coordinator.classic.heartbeat import heartbeat
from ottla.coordinator.classic.intervention import end_session, want_rebalance
from ottla.coordinator.classic.join import GroupWritten, group_written, join
from ottla.coordinator.classic.leave import leave
from ottla.coordinator.classic.restart import StaticMemberWritten, static_member_written
from ottla.coordinator.classic.sessions import load, session_expired
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.sync import AssignmentsWritten, assignments_written, sync
from ottla.coordinator.classic.timers import JOIN_TIMER, KINDS, SYNC_TIMER, describe_timer, member_of, purgatory_of
from ottla.coordinator.offsets.commit import OffsetsWritten
from ottla.coordinator.offsets.commit_in_transaction import PendingOffsetsWritten
from ottla.coordinator.offsets.events import (
    DeleteRequested,
    OffsetCommitRequested,
    OffsetDeleteRequested,
    OffsetFetchRequested,
    SweepDue,
    TransactionEnded,
    TxnOffsetCommitRequested,
)
from ottla.coordinator.offsets.fetch import fetch
from ottla.coordinator.offsets.removal import TombstonesWritten, topics_deleted
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired, TopicChange, TopicsChanged, Unloaded
from ottla.coordinator.runtime.kind import Kind, StepFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ottla.coordinator.classic.events import Event
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Completion, Effects
    from ottla.protocol.errors import ErrorCode


def step(group: Group, now_ms: int, event: Event) -> Effects:
    """Apply one event. Raises `StepFailed`, from what was raised, and the group is not to be trusted any more."""
    effects: Effects = []
    try:
        _EVENTS[event.__class__](group, now_ms, event, effects)
    except Exception as error:
        raise StepFailed(effects) from error
    return effects


def _timer_expired(group: Group, now_ms: int, event: TimerExpired, effects: Effects) -> None:
    if group.state is GroupState.DEAD:
        return
    if event.timer_key == JOIN_TIMER:
        rebalance.join_expired(group, now_ms, effects)
    elif event.timer_key == SYNC_TIMER:
        rebalance.sync_expired(group, now_ms, effects)
    else:
        session_expired(group, now_ms, member_of(event.timer_key), effects)


def _append_completed(group: Group, now_ms: int, event: AppendCompleted, effects: Effects) -> None:
    completion = event.completion
    _COMPLETIONS[completion.__class__](group, now_ms, completion, event.error, effects)


#: What an event does: (group, now_ms, event, effects).
_EVENTS: Final[Mapping[type, Callable[[Group, int, Any, Effects], object]]] = {
    events.HeartbeatRequested: heartbeat,
    OffsetCommitRequested: offsets.commit_offsets,
    OffsetFetchRequested: lambda group, _now_ms, event, effects: fetch(group.offsets, event, effects),
    TxnOffsetCommitRequested: offsets.commit_offsets_in_transaction,
    TransactionEnded: lambda group, _now_ms, event, _effects: group.offsets.end_transaction(
        event.producer_id, is_commit=event.is_commit
    ),
    events.JoinRequested: join,
    events.SyncRequested: lambda group, _now_ms, event, effects: sync(group, event, effects),
    events.LeaveRequested: leave,
    OffsetDeleteRequested: lambda group, _now_ms, event, effects: offsets.delete_offsets(group, event, effects),
    events.DescribeRequested: lambda group, _now_ms, event, effects: describe(group, event, effects),
    DeleteRequested: lambda group, _now_ms, event, effects: offsets.delete_group(group, event, effects),
    TimerExpired: _timer_expired,
    events.SessionEnded: end_session,
    events.RebalanceWanted: want_rebalance,
    AppendCompleted: _append_completed,
    TopicsChanged: lambda group, _now_ms, event, effects: topics_deleted(group, event.deleted, effects),
    SweepDue: lambda group, now_ms, _event, effects: offsets.sweep(group, now_ms, effects),
    Loaded: lambda group, now_ms, _event, effects: load(group, now_ms, effects),
    Unloaded: lambda group, now_ms, _event, effects: unload(group, now_ms, effects),
}

#: What a completed append does: (group, now_ms, completion, error, effects).
_COMPLETIONS: Final[Mapping[type[Completion], Callable[[Group, int, Any, ErrorCode, Effects], None]]] = {
    OffsetsWritten: offsets.offsets_written,
    PendingOffsetsWritten: offsets.pending_offsets_written,
    AssignmentsWritten: assignments_written,
    StaticMemberWritten: static_member_written,
    TombstonesWritten: offsets.tombstones_written,
    rebalance.EmptyWritten: lambda group, _now_ms, written, error, effects: rebalance.empty_written(
        group, written, error, effects
    ),
    GroupWritten: lambda group, now_ms, _written, error, effects: group_written(group, now_ms, error, effects),
}

#: What the runtime has to know of classic groups.
CLASSIC: Final[Kind[Group]] = Kind(
    "group",
    step,
    purgatory_of,
    KINDS,
    describe_timer,
    topic_changes=frozenset({TopicChange.DELETED}),
    sharing=OffsetCommitRequested,
)

"""One rebalance: which members are awaited, until when, which one leads, and what the new generation is.

It *begins* when a member comes, goes or changes. Then all members are awaited until the join timer runs out, which is
as long as the most patient member asks for; it *completes* earlier if no member is missing. Those that did not come are
dropped, unless they are static: those may be restarting. The generation grows by one, a protocol is chosen, parked
JoinGroups are answered. Now every member owes a SyncGroup, until the sync timer runs out; the leader's brings the
assignment.

The first rebalance of an Empty group is different: others probably start at the same time. It waits for
group.initial.rebalance.delay.ms in any case, and again as long as new members keep coming, in all as long as the
rebalance timeout:

    delay 3000, rebalance timeout 7500      0       3000      6000   7500
    a new member in each interval           |--3000--|--3000--|-1500-| complete
    no member after the first               |--3000--| complete

Kafka: prepareRebalance, maybeCompleteJoinPhase, completeClassicGroupJoin, tryCompleteInitialRebalanceElseSchedule,
expirePendingSync in GroupMetadataManager.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.group import InitialDelay, Rebalance
from ottla.coordinator.classic.members import refuse_sync, remove, silent_ms, start_session, unpark_join
from ottla.coordinator.classic.protocols import choose
from ottla.coordinator.classic.records import group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import subscribed_topics
from ottla.coordinator.classic.timers import JOIN_TIMER, SYNC_TIMER
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.runtime.effects import Append, Arm, Completion, Disarm, Reply
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.write_errors import GROUP_WRITE_ERRORS, WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member
    from ottla.coordinator.runtime.effects import Effects

#: Not Kafka's: how long to wait again for static members at least. What they ask for may be nothing at all, and then a
#: group would do nothing else until their sessions end.
WAIT_AGAIN_MS_MIN: Final = 1_000


@frozen
class Trigger:
    """Why a group rebalances."""

    cause: Cause
    member_id: str | None = None
    """The member because of which it does; None: because of none."""
    reason: str | None = None
    """What that member said."""
    leave: Reply | None = None
    """The answer to the LeaveGroup that is the cause. It waits for the write if the last member has left."""


class Outcome(Enum):
    """How far a rebalance has come."""

    AWAITED = "members are awaited"
    JOINED = "all are in, there is a new generation"
    EMPTY = "no member is left; that is being written"
    STUCK = "all are in and have no protocol in common"
    """Where Kafka throws an exception then, the request that did it is answered UNKNOWN_SERVER_ERROR."""


@frozen
class EmptyWritten(Completion):
    """A generation without members is in the log."""

    leave: Reply | None = None
    """The answer to the LeaveGroup by which the last one left."""


def begin(group: Group, now_ms: int, effects: Effects, trigger: Trigger) -> Outcome:
    """Rebalance the group, from a state where that can begin."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        withdraw_assignment(group, now_ms, ErrorCode.REBALANCE_IN_PROGRESS, effects)
    forget_owed_syncs(group, effects)
    initial_delay = None
    if group.state is GroupState.EMPTY:
        delay_ms = group.config.group_initial_rebalance_delay_ms
        initial_delay = InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        _await_joins(group, now_ms + delay_ms, effects)
    group.move(GroupState.PREPARING_REBALANCE, now_ms)
    group.rebalance = Rebalance(trigger.cause, now_ms, initial_delay)
    note(
        group,
        effects,
        GroupEvents.GROUP_REBALANCE_STARTED,
        cause=trigger.cause,
        member_id=trigger.member_id,
        reason=trigger.reason,
        delay_ms=initial_delay.delay_ms or None if initial_delay is not None else None,
    )
    if initial_delay is not None:
        return Outcome.AWAITED
    if group.has_all_joined:
        return complete(group, now_ms, effects, trigger.leave)
    _await_joins(group, now_ms + group.rebalance_timeout_ms, effects)
    return Outcome.AWAITED


def begin_or_complete(group: Group, now_ms: int, effects: Effects, trigger: Trigger) -> Outcome:
    """Rebalance the group; if it does already, complete the join phase if this was the last member it waited for.

    The first join phase takes its time, even if no member is missing.
    """
    if group.can_rebalance:
        return begin(group, now_ms, effects, trigger)
    current = group.rebalance
    is_first = current is not None and current.initial_delay is not None
    if group.state is not GroupState.PREPARING_REBALANCE or is_first or not group.has_all_joined:
        return Outcome.AWAITED
    return complete(group, now_ms, effects, trigger.leave)


def complete(group: Group, now_ms: int, effects: Effects, leave: Reply | None = None) -> Outcome:
    """End the join phase with the members that are there. `leave`: answered once it is written that none is."""
    assert group.rebalance is not None
    stop_awaiting_joins(group, effects)
    for member in [m for m in group.members.values() if m.parked_join is None and not m.is_static]:
        _give_up(group, now_ms, member, Cause.JOIN_EXPIRED, effects)
    if group.members and not _elect_leader(group):
        # All are static, and none is back. Wait on: their sessions will end, or they will come.
        _await_joins(group, now_ms + max(group.rebalance_timeout_ms, WAIT_AGAIN_MS_MIN), effects)
        return Outcome.AWAITED
    group.generation_id += 1
    if not group.members:
        _become_empty(group, now_ms, leave, effects)
        return Outcome.EMPTY
    protocol_name = choose(group)
    group.rebalance.is_stuck = protocol_name is None
    if protocol_name is None:
        note(group, effects, GroupEvents.GROUP_REBALANCE_STUCK, member_ids=list(group.members))
        return Outcome.STUCK
    group.protocol_name = protocol_name
    group.subscribed_topics = subscribed_topics(group)
    group.move(GroupState.COMPLETING_REBALANCE, now_ms)
    _answer_joins(group, now_ms, effects)
    return Outcome.JOINED


def _elect_leader(group: Group) -> bool:
    """Keep the leader if it is back, else take the first that is; False: no member is. Kafka: any that is."""
    leader_id = group.leader_id
    if leader_id is not None and group.members[leader_id].parked_join is not None:
        return True
    back = next((member for member in group.members.values() if member.parked_join is not None), None)
    if back is not None:
        group.leader_id = back.member_id
    return back is not None


def _answer_joins(group: Group, now_ms: int, effects: Effects) -> None:
    """Tell all members the new generation; sessions begin anew, of absent static members too; syncs are owed."""
    leader = group.leader_id or ""
    for member in group.members.values():
        if (join := unpark_join(group, member)) is not None:
            members = answers.join_members(group) if member.member_id == leader else None
            response = answers.join_accepted(group, join, member.member_id, leader=leader, members=members)
            effects.append(Reply(join.token, response))
        start_session(member, now_ms, member.session_timeout_ms, effects)
        member.is_new = False
        group.pending_syncs[member.member_id] = None
    group.sync_deadline_ms = now_ms + group.rebalance_timeout_ms
    effects.append(Arm(SYNC_TIMER, group.sync_deadline_ms))
    note(
        group,
        effects,
        GroupEvents.GROUP_REBALANCE_JOINED,
        cause=None if group.rebalance is None else group.rebalance.cause,
        member_ids=list(group.members),
        leader=leader,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        duration_ms=duration_ms(group, now_ms),
    )


def _become_empty(group: Group, now_ms: int, leave: Reply | None, effects: Effects) -> None:
    """Write a generation without members. If that fails the group is Empty all the same; a warning must do."""
    group.protocol_name = None
    group.subscribed_topics = subscribed_topics(group)
    group.move(GroupState.EMPTY, now_ms)
    note(group, effects, GroupEvents.GROUP_EMPTIED, duration_ms=duration_ms(group, now_ms))
    group.rebalance = None
    effects.append(Append([group_record(group)], EmptyWritten(leave)))


def empty_written(group: Group, written: EmptyWritten, error: ErrorCode, effects: Effects) -> None:
    """The generation without members is written, or not: answer the member that was the last to leave."""
    if error is not ErrorCode.NONE:
        answered = GROUP_WRITE_ERRORS.get(error, error)
        note(group, effects, GroupEvents.GROUP_WRITE_FAILED, what="empty generation", error=answered.name)
    if (leave := written.leave) is not None:
        is_written = error is ErrorCode.NONE
        response = leave.response if is_written else answers.leave_refused(WRITE_ERRORS.get(error, error))
        effects.append(Reply(leave.token, response))


def join_expired(group: Group, now_ms: int, effects: Effects) -> None:
    """The join timer ran out: prolong the initial delay if a new member came, else end the join phase."""
    group.join_deadline_ms = None
    if group.rebalance is None:
        return
    delay = group.rebalance.initial_delay
    if delay is not None and group.new_member_added and delay.remaining_ms:
        group.new_member_added = False
        next_delay_ms = min(group.config.group_initial_rebalance_delay_ms, delay.remaining_ms)
        group.rebalance.initial_delay = InitialDelay(next_delay_ms, max(delay.remaining_ms - delay.delay_ms, 0))
        _await_joins(group, now_ms + next_delay_ms, effects)
        return
    complete(group, now_ms, effects)


def sync_expired(group: Group, now_ms: int, effects: Effects) -> None:
    """The sync timer ran out: remove all that have not synced, the leader and static members too, and rebalance."""
    group.sync_deadline_ms = None
    if not group.pending_syncs:
        return
    for member_id in list(group.pending_syncs):
        if (member := group.members.get(member_id)) is not None:
            _give_up(group, now_ms, member, Cause.SYNC_EXPIRED, effects)
    begin(group, now_ms, effects, Trigger(Cause.SYNC_EXPIRED))


def withdraw_assignment(group: Group, now_ms: int, error: ErrorCode, effects: Effects) -> None:
    """No member has an assignment any more. Parked SyncGroups are answered; their senders' sessions begin anew.

    Kafka: resetAndPropagateAssignmentWithError.
    """
    for member in group.members.values():
        member.assignment = b""
        if refuse_sync(member, error, effects):
            start_session(member, now_ms, member.session_timeout_ms, effects)


def forget_owed_syncs(group: Group, effects: Effects) -> None:
    """No member owes a SyncGroup any more."""
    group.pending_syncs.clear()
    if group.sync_deadline_ms is not None:
        group.sync_deadline_ms = None
        effects.append(Disarm(SYNC_TIMER))


def has_synced(group: Group, member_id: str, effects: Effects) -> None:
    """This member has sent its SyncGroup. Once all have, the sync timer stops."""
    group.pending_syncs.pop(member_id, None)
    if not group.pending_syncs:
        forget_owed_syncs(group, effects)


def stop_awaiting_joins(group: Group, effects: Effects) -> None:
    """Stop the join timer, if it runs."""
    if group.join_deadline_ms is not None:
        group.join_deadline_ms = None
        effects.append(Disarm(JOIN_TIMER))


def duration_ms(group: Group, now_ms: int) -> int | None:
    """For how long the rebalance under way has been going on."""
    return None if group.rebalance is None else now_ms - group.rebalance.started_ms


def _await_joins(group: Group, deadline_ms: int, effects: Effects) -> None:
    group.join_deadline_ms = deadline_ms
    effects.append(Arm(JOIN_TIMER, deadline_ms))


def _give_up(group: Group, now_ms: int, member: Member, cause: Cause, effects: Effects) -> None:
    silence_ms = silent_ms(member, now_ms)
    remove(group, member, effects)
    note(
        group,
        effects,
        GroupEvents.GROUP_MEMBER_REMOVED,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        cause=cause,
        silent_ms=silence_ms,
    )

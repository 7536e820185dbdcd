"""JoinGroup (api key 11), v0–v9: a client wants to be in the group, or to stay in it through a rebalance.

What happens depends on the sender (`situate_join`) and on the group's state, looked up in `decisions.JOIN`:

    HAND_OUT_ID   a new dynamic member is told its id first, so that a lost answer leaves no ghost behind (KIP-394)
    ADD           a new member: it is parked, and the group rebalances
    UPDATE        a member says what it supports now: it is parked, and the group rebalances
    REPLACE       a static member has restarted: it gets a new id, and mostly no other member notices (KIP-345)
    REPEAT        nothing new: the current generation once more

v0 has no rebalance timeout of its own; v4 wants the id first; v5 has group instance ids; v7 has the protocol type in
the answer; v8 says why; v9 can tell a static leader to skip the assignment (KIP-814).
Kafka: classicGroupJoinToClassicGroup and what it calls in GroupMetadataManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.decisions import JOIN, JoinStep
from ottla.coordinator.classic.ending import end_unwritten
from ottla.coordinator.classic.member import Member
from ottla.coordinator.classic.members import (
    add,
    add_pending,
    drop_pending,
    park_join,
    remove,
    start_session,
    unpark_join,
    update,
)
from ottla.coordinator.classic.rebalance import Outcome, Trigger, begin_or_complete
from ottla.coordinator.classic.records import new_group_record
from ottla.coordinator.classic.restart import replace
from ottla.coordinator.classic.situations import situate_join
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.runtime.effects import Append, Completion, Effects, Reply
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.write_errors import GROUP_WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ottla.coordinator.classic.events import JoinRequested
    from ottla.coordinator.classic.group import Group


@frozen
class GroupWritten(Completion):
    """The record of a new group is in the log."""


def join(group: Group, now_ms: int, event: JoinRequested, effects: Effects) -> None:
    """Answer a JoinGroup, or park it. The first request a new group gets also has the group written down."""
    is_new_group, group.is_unwritten = group.is_unwritten, False
    cell = JOIN[group.state][situate_join(group, event)]
    if is_new_group:
        note(group, effects, GroupEvents.GROUP_CREATED, cause=Cause.JOIN)
    if isinstance(cell, ErrorCode):
        _refuse(group, event, cell, effects)
    elif not event.has_writable_names:
        _refuse(group, event, ErrorCode.UNKNOWN_SERVER_ERROR, effects)
    elif (stuck := _STEPS[cell](group, now_ms, event, effects)) is not None:
        _give_up(group, now_ms, stuck, event, effects)
    if is_new_group:
        effects.append(Append([new_group_record(group)], GroupWritten()))


# ── The steps; each returns the member if its JoinGroup made it impossible to choose a protocol ──────────────────────


def _hand_out_id(group: Group, now_ms: int, event: JoinRequested, effects: Effects) -> None:
    member_id = event.new_member_id
    add_pending(group, member_id, now_ms + event.request.session_timeout_ms, effects)
    effects.append(Reply(event.token, answers.join_refused(event, ErrorCode.MEMBER_ID_REQUIRED, member_id)))
    note(
        group,
        effects,
        GroupEvents.GROUP_MEMBER_ID_HANDED_OUT,
        member_id=member_id,
        client_id=event.client_id,
        client_host=event.client_host,
    )


def _add(group: Group, now_ms: int, event: JoinRequested, effects: Effects) -> Member | None:
    request = event.request
    if request.member_id in group.pending_joins:
        del group.pending_joins[request.member_id]  # its timer becomes the member's
    member = Member(
        request.member_id or event.new_member_id,
        request.group_instance_id,
        event.client_id,
        event.client_host,
        request.session_timeout_ms,
        event.rebalance_timeout_ms,
        request.protocols,
        is_new=True,
    )
    if group.rebalance is not None and group.rebalance.initial_delay is not None:
        group.new_member_added = True
    add(group, member, request.protocol_type)
    park_join(group, member, event, effects)
    # It can't beat before it has its answer, and while it is parked the broker does not see it disconnect. If it waits
    # in vain it comes again; the one that is waiting here must not stay for ever.
    start_session(member, now_ms, NEW_MEMBER_JOIN_TIMEOUT_MS, effects)
    note(
        group,
        effects,
        GroupEvents.GROUP_MEMBER_JOINED,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        reason=request.reason,
    )
    trigger = Trigger(Cause.MEMBER_JOINED, member.member_id, request.reason)
    return member if begin_or_complete(group, now_ms, effects, trigger) is Outcome.STUCK else None


def _update(group: Group, now_ms: int, event: JoinRequested, effects: Effects) -> Member | None:
    request = event.request
    member = group.members[request.member_id]
    _note_rejoined(group, member, event, effects)
    update(group, member, request.protocols, request.session_timeout_ms, event.rebalance_timeout_ms)
    park_join(group, member, event, effects)
    is_leader = group.state is GroupState.STABLE and group.leader_id == member.member_id
    cause = Cause.LEADER_REJOINED if is_leader else Cause.MEMBER_CHANGED
    trigger = Trigger(cause, member.member_id, request.reason)
    return member if begin_or_complete(group, now_ms, effects, trigger) is Outcome.STUCK else None


def _repeat(group: Group, _now_ms: int, event: JoinRequested, effects: Effects) -> None:
    """No deadline moves, and the timeouts of the request are ignored. The member still owes its SyncGroup."""
    member = group.members[event.request.member_id]
    is_leader = group.leader_id == member.member_id
    response = answers.join_accepted(
        group,
        event,
        member.member_id,
        leader=group.leader_id or "",
        members=answers.join_members(group) if is_leader else None,
    )
    effects.append(Reply(event.token, response))
    _note_rejoined(group, member, event, effects)


_STEPS: Final[Mapping[JoinStep, Callable[[Group, int, JoinRequested, Effects], Member | None]]] = {
    JoinStep.HAND_OUT_ID: _hand_out_id,
    JoinStep.ADD: _add,
    JoinStep.REPLACE: replace,
    JoinStep.UPDATE: _update,
    JoinStep.REPEAT: _repeat,
}


def _note_rejoined(group: Group, member: Member, event: JoinRequested, effects: Effects) -> None:
    is_wanted = GroupEvents.GROUP_MEMBER_REJOINED in group.notes_wanted
    note(
        group,
        effects,
        GroupEvents.GROUP_MEMBER_REJOINED,
        member_id=member.member_id,
        is_changed=is_wanted and member.protocols != event.request.protocols,
        reason=event.request.reason,
    )


# ── Turned away ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _refuse(group: Group, event: JoinRequested, error: ErrorCode, effects: Effects) -> None:
    """Answer with an error. A sender that finds no room is no member any more either, nor is its id known."""
    member_id = event.request.member_id
    if error is ErrorCode.GROUP_MAX_SIZE_REACHED:
        _put_out(group, member_id, effects)
        member_id = ""
    elif error is ErrorCode.UNKNOWN_SERVER_ERROR:
        member_id = ""
    effects.append(Reply(event.token, answers.join_refused(event, error, member_id)))
    note(
        group,
        effects,
        GroupEvents.GROUP_JOIN_REFUSED,
        member_id=event.request.member_id,
        client_id=event.client_id,
        client_host=event.client_host,
        error=error.name,
    )


def _put_out(group: Group, member_id: str, effects: Effects) -> None:
    if member_id in group.pending_joins:
        drop_pending(group, member_id, effects)
    elif (member := group.members.get(member_id)) is not None:
        remove(group, member, effects)
    else:
        return
    note(group, effects, GroupEvents.GROUP_MEMBER_REMOVED, member_id=member_id, cause=Cause.GROUP_FULL)


def _give_up(group: Group, now_ms: int, member: Member, event: JoinRequested, effects: Effects) -> None:
    """This JoinGroup made it impossible to choose a protocol, for a member lists one twice; an exception in Kafka."""
    unpark_join(group, member)
    if member.deadline_ms is None:
        start_session(member, now_ms, member.session_timeout_ms, effects)
    _refuse(group, event, ErrorCode.UNKNOWN_SERVER_ERROR, effects)


# ── What was written ──────────────────────────────────────────────────────────────────────────────────────────────────


def group_written(group: Group, now_ms: int, error: ErrorCode, effects: Effects) -> None:
    """The new group is in the log, or it never was: then what waits in it is answered."""
    if error is not ErrorCode.NONE:
        end_unwritten(group, now_ms, GROUP_WRITE_ERRORS.get(error, error), effects)

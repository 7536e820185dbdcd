"""The restart of a static member: a JoinGroup without member id, with the group instance id of a member (KIP-345).

The member gets a new id, and everything it had; a client that still uses the old id is fenced. A Stable group need not
rebalance for it, as long as the protocol stays the same: then the new id is written down, and the answer waits for
that. If it can't be written the old id counts as before.

The group changes before its record is written, and the change is taken back by hand if that fails. Kafka does the
same, and answers by the changed group meanwhile: the old id is fenced, another restart fences this one, and a rebalance
that begins counts the JoinGroup that waits. With a change that waits for its record all three would be answered by the
former group.

From v9 on a leader that restarts is told that it leads and that it need not assign; before, it is told that
its former self leads, so that it doesn't (KIP-814). Kafka: updateStaticMemberThenRebalanceOrCompleteJoin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.members import park_join, replace_id, start_session, unpark_join, update
from ottla.coordinator.classic.protocols import choose
from ottla.coordinator.classic.rebalance import Outcome, Trigger, begin_or_complete
from ottla.coordinator.classic.records import group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.runtime.effects import Append, Completion, Effects, Reply
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.write_errors import GROUP_WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import JoinRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member, Protocols

_SKIP_ASSIGNMENT: Final = 9


@frozen
class StaticMemberWritten(Completion):
    """A static member's new id is in the log. What it was before, in case it isn't."""

    join: JoinRequested
    member: Member
    member_id: str
    former_member_id: str
    former_leader: str
    former_protocols: Protocols
    former_session_timeout_ms: int
    former_rebalance_timeout_ms: int


def replace(group: Group, now_ms: int, event: JoinRequested, effects: Effects) -> Member | None:
    """Let a static member that restarted take the place of the one it was.

    Returned if its JoinGroup made it impossible to choose a protocol.
    """
    request = event.request
    member = group.members[group.static_members[request.group_instance_id or ""]]
    written = StaticMemberWritten(
        event,
        member,
        event.new_member_id,
        member.member_id,
        group.leader_id or "",
        member.protocols,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
    )
    replace_id(group, member, written.member_id, effects)
    start_session(member, now_ms, member.session_timeout_ms, effects)  # the old one's, for all the request says
    update(group, member, request.protocols, request.session_timeout_ms, event.rebalance_timeout_ms)
    park_join(group, member, event, effects)
    note(
        group,
        effects,
        GroupEvents.GROUP_MEMBER_REPLACED,
        member_id=member.member_id,
        replaced_member_id=written.former_member_id,
        group_instance_id=member.group_instance_id,
        reason=request.reason,
    )
    if group.state is GroupState.STABLE:
        protocol_name = choose(group)
        if protocol_name is None:
            return member
        if protocol_name == group.protocol_name:
            effects.append(Append([group_record(group)], written))
            return None
    # In CompletingRebalance the leader may know the old id already, and would assign to an id that is gone.
    trigger = Trigger(Cause.STATIC_MEMBER_RETURNED, member.member_id, request.reason)
    return member if begin_or_complete(group, now_ms, effects, trigger) is Outcome.STUCK else None


def static_member_written(
    group: Group, now_ms: int, written: StaticMemberWritten, error: ErrorCode, effects: Effects
) -> None:
    """A static member's new id is in the log: answer it. If not, its old id counts as before.

    Another member may have joined or replaced it meanwhile; what was answered by then is answered.
    """
    member = written.member
    if group.members.get(written.member_id) is not member:
        return
    is_waiting = member.parked_join is written.join
    if error is ErrorCode.NONE:
        if is_waiting:
            _answer_replaced(group, written, effects)
        return
    answered = GROUP_WRITE_ERRORS.get(error, error)
    if is_waiting:
        unpark_join(group, member)
    update(
        group,
        member,
        written.former_protocols,
        written.former_session_timeout_ms,
        written.former_rebalance_timeout_ms,
    )
    replace_id(group, member, written.former_member_id, effects)
    start_session(member, now_ms, member.session_timeout_ms, effects)
    note(group, effects, GroupEvents.GROUP_WRITE_FAILED, what="static member", error=answered.name)
    if is_waiting:
        response = answers.join_accepted(group, written.join, "", leader=written.former_leader, error=answered)
        effects.append(Reply(written.join.token, response))


def _answer_replaced(group: Group, written: StaticMemberWritten, effects: Effects) -> None:
    """From v9 on a leader learns that it leads and need not assign. Before, it is told of the former leader."""
    if written.join.api_version < _SKIP_ASSIGNMENT:
        response = answers.join_accepted(group, written.join, written.member_id, leader=written.former_leader)
    else:
        is_leader = group.leader_id == written.member_id
        if is_leader and group.state is GroupState.PREPARING_REBALANCE:
            return  # there is nothing to show the leader now; the rebalance will answer it
        response = answers.join_accepted(
            group,
            written.join,
            written.member_id,
            leader=group.leader_id or "",
            members=answers.join_members(group) if is_leader else None,
            skip_assignment=is_leader,
        )
    unpark_join(group, written.member)
    effects.append(Reply(written.join.token, response))

"""LeaveGroup (api key 13), v0–v5: members go, by themselves or because an admin names their instance.

From v3 on a request may name several members, each answered on its own: `states.LEAVE`. After all of them the group
rebalances once, if anybody went; in PreparingRebalance whoever went may have been the last one missing. If nobody is
left the answer waits until that is written.

A member that goes with a SyncGroup parked is told UNKNOWN_MEMBER_ID, where Kafka lets it wait: docs/differences.md.

v3 adds the batch and group_instance_id (KIP-345), v5 a reason (KIP-800).
Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import answers, rebalance
from ottla.coordinator.classic.members import drop_pending, remove, situate
from ottla.coordinator.classic.states import LEAVE, GroupState, LeaveSituation, LeaveStep, MemberSituation
from ottla.coordinator.notes import Cause, Happened, note
from ottla.coordinator.runtime.effects import Reply
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.leave_group import LeaveGroupRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.classic.events import LeaveRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects

    Identity = LeaveGroupRequest.MemberIdentity


def leave(group: Group, now_ms: int, event: LeaveRequested, effects: Effects) -> None:
    """Let members go, and answer."""
    if group.state is GroupState.DEAD:
        effects.append(Reply(event.token, answers.leave_refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
        return
    identities = answers.leave_members(event)
    errors = [_leave_one(group, identity, effects) for identity in identities]
    reply = Reply(event.token, answers.leave_answered(event, errors))
    if ErrorCode.NONE in errors:
        first_gone = identities[errors.index(ErrorCode.NONE)]
        generation_before = group.generation_id
        written = _rebalance(group, now_ms, first_gone, effects)
        if written is not None:
            written.reply = reply
            return
        if rebalance.got_stuck(group, generation_before):
            reply.response = answers.leave_refused(ErrorCode.UNKNOWN_SERVER_ERROR)
    effects.append(reply)


def situate_leave(group: Group, identity: Identity) -> LeaveSituation:
    """Who is to leave?"""
    if not identity.member_id:
        is_known = identity.group_instance_id in group.static_members
        return LeaveSituation.INSTANCE if is_known else LeaveSituation.NOBODY
    if identity.member_id in group.pending_joins:
        return LeaveSituation.PENDING_MEMBER
    return _SITUATIONS[situate(group, identity.member_id, identity.group_instance_id, group.generation_id)]


_SITUATIONS: Final[Mapping[MemberSituation, LeaveSituation]] = {
    MemberSituation.UNKNOWN_INSTANCE: LeaveSituation.UNKNOWN_INSTANCE,
    MemberSituation.FENCED_INSTANCE: LeaveSituation.FENCED_INSTANCE,
    MemberSituation.UNKNOWN_MEMBER: LeaveSituation.UNKNOWN_MEMBER,
    MemberSituation.CURRENT: LeaveSituation.MEMBER,
}


def _leave_one(group: Group, identity: Identity, effects: Effects) -> ErrorCode:
    cell = LEAVE[group.state][situate_leave(group, identity)]
    if isinstance(cell, ErrorCode):
        return cell
    if cell is LeaveStep.REMOVE_PENDING:
        member_id = identity.member_id
        group_instance_id = None
        drop_pending(group, member_id, effects)
    else:
        member_id = identity.member_id or group.static_members[identity.group_instance_id or ""]
        member = group.members[member_id]
        group_instance_id = member.group_instance_id
        remove(group, member, effects)
    note(
        group,
        effects,
        Happened.MEMBER_REMOVED,
        member_id=member_id,
        group_instance_id=group_instance_id,
        cause=Cause.MEMBER_LEFT,
        reason=identity.reason,
    )
    return ErrorCode.NONE


def _rebalance(group: Group, now_ms: int, gone: Identity, effects: Effects) -> rebalance.EmptyWritten | None:
    """A pending id that goes rebalances a Stable group too, as in Kafka."""
    if group.state is GroupState.EMPTY:
        return None
    return rebalance.begin_or_complete(group, now_ms, effects, Cause.MEMBER_LEFT, gone.member_id or None, gone.reason)

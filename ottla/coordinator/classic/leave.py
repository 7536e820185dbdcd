"""LeaveGroup (api key 13), v0–v5: members go, by themselves or because an admin names their instance.

From v3 on a request may name several members, each answered on its own: `decisions.LEAVE`. After all of them the group
rebalances once, if a member went; in PreparingRebalance the one that went may have been the last one missing. If no
member is left the answer waits until that is written.

A member that goes with a SyncGroup parked is told UNKNOWN_MEMBER_ID, where Kafka lets it wait: docs/differences.md.

v3 adds the batch and group_instance_id (KIP-345), v5 a reason (KIP-800).
Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.decisions import LEAVE, LeaveStep
from ottla.coordinator.classic.members import drop_pending, remove
from ottla.coordinator.classic.rebalance import Outcome, Trigger, begin_or_complete
from ottla.coordinator.classic.situations import situate_leave
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.runtime.effects import Reply
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import LeaveRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects
    from ottla.protocol.messages.leave_group import LeaveGroupRequest


def leave(group: Group, now_ms: int, event: LeaveRequested, effects: Effects) -> None:
    """Let members go, and answer."""
    if group.state is GroupState.DEAD:
        effects.append(Reply(event.token, answers.leave_refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)))
        return
    identities = answers.leave_members(event)
    errors = [_leave_one(group, identity, effects) for identity in identities]
    reply = Reply(event.token, answers.leave_answered(event, errors))
    if ErrorCode.NONE in errors and group.state is not GroupState.EMPTY:
        # A pending id that goes rebalances a Stable group too, as in Kafka.
        gone = identities[errors.index(ErrorCode.NONE)]
        trigger = Trigger(Cause.MEMBER_LEFT, gone.member_id or None, gone.reason, reply)
        outcome = begin_or_complete(group, now_ms, effects, trigger)
        if outcome is Outcome.EMPTY:
            return
        if outcome is Outcome.STUCK:
            reply = Reply(event.token, answers.leave_refused(ErrorCode.UNKNOWN_SERVER_ERROR))
    effects.append(reply)


def _leave_one(group: Group, identity: LeaveGroupRequest.MemberIdentity, effects: Effects) -> ErrorCode:
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
        GroupEvents.GROUP_MEMBER_REMOVED,
        member_id=member_id,
        group_instance_id=group_instance_id,
        cause=Cause.MEMBER_LEFT,
        reason=identity.reason,
    )
    return ErrorCode.NONE

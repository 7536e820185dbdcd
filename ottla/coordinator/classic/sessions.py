"""How long members live: what happens when a session ends, and when sessions begin after a load.

A member that waits for an answer is alive: if its timer runs out meanwhile nothing happens, and the next sign of life
arms it again. A new member is not excused. Kafka: expireClassicGroupMemberHeartbeat, onLoaded in GroupMetadataManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic import rebalance
from ottla.coordinator.classic.members import remove, silent_ms, start_session
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause, note
from ottla.events.kinds.groups import GroupEvents

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects


def session_expired(group: Group, now_ms: int, member_id: str, effects: Effects) -> None:
    """A member was silent for too long, or an id that was handed out has not joined."""
    member = group.members.get(member_id)
    silence_ms = None
    if member is not None:
        silence_ms = silent_ms(member, now_ms)
        member.deadline_ms = None
        if member.is_kept_alive:
            return
        remove(group, member, effects)
    elif group.pending_joins.pop(member_id, None) is None:
        return
    note(
        group,
        effects,
        GroupEvents.GROUP_MEMBER_REMOVED,
        member_id=member_id,
        group_instance_id=None if member is None else member.group_instance_id,
        cause=Cause.SESSION_EXPIRED,
        silent_ms=silence_ms,
    )
    if group.state is GroupState.PREPARING_REBALANCE:
        if group.has_all_joined:  # even in the initial delay, unlike after a LeaveGroup
            rebalance.complete(group, now_ms, effects)
    elif member is not None:
        rebalance.begin(group, now_ms, effects, rebalance.Trigger(Cause.SESSION_EXPIRED, member_id))


def load(group: Group, now_ms: int, effects: Effects) -> None:
    """The group is coordinated here now: all sessions begin. Too large a group rebalances, so that some stay out."""
    note(
        group,
        effects,
        GroupEvents.GROUP_LOADED,
        member_ids=list(group.members),
        leader=group.leader_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
    )
    for member in group.members.values():
        start_session(member, now_ms, member.session_timeout_ms, effects)
    if len(group.members) > group.config.group_max_size:
        rebalance.begin(group, now_ms, effects, rebalance.Trigger(Cause.GROUP_FULL))

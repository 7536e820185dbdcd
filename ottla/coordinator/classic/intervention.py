"""What is done to a group by hand, by no client: a session ends, a member is removed, all members are called back.

The result is what the same thing would lead to if it came by itself: these are other ways into `sessions`, `leave` and
`rebalance`, and add nothing of their own. `expire`, `evict` and `rebalance` say by which events it is done, or why it
can't be; the others are what the events do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.classic.events import LeaveRequested, RebalanceWanted, SessionEnded
from ottla.coordinator.classic.rebalance import Trigger, begin
from ottla.coordinator.classic.sessions import session_expired
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.kinds.kind import CannotBeDone
from ottla.coordinator.notes import Cause
from ottla.coordinator.runtime.effects import Disarm
from ottla.protocol.messages.leave_group import LeaveGroupRequest

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects

#: Kafka: KafkaAdminClient.DEFAULT_LEAVE_GROUP_REASON.
ADMIN_REASON: Final = "member was removed by an admin"
_LEAVE_VERSION: Final = 5


class _Unanswered:
    """Takes an answer that no client waits for."""

    def answer(self, _response: Any, /) -> None:
        """The members are gone, which their group shows."""


def expire(group: Group, member_ids: Sequence[str]) -> list[SessionEnded]:
    """End these sessions now, as if the members had been silent. A member that waits for an answer is alive."""
    if kept := [member_id for member_id in member_ids if group.members[member_id].is_kept_alive]:
        raise CannotBeDone(
            f"group {group.group_id} is {group.state.value}, and {', '.join(kept)} waits for an answer, by which it is "
            "alive; wait for state='Stable' first"
        )
    return [SessionEnded(member_id) for member_id in member_ids]


def evict(group: Group, member_ids: Sequence[str], reason: str | None) -> list[LeaveRequested]:
    """Remove these members as an admin does, who sends LeaveGroup for them. `reason`: added to what its client says."""
    said = ADMIN_REASON if reason is None else f"{ADMIN_REASON}: {reason}"
    members = [
        LeaveGroupRequest.MemberIdentity(member_id, group.members[member_id].group_instance_id, said)
        for member_id in member_ids
    ]
    return [LeaveRequested(_Unanswered(), LeaveGroupRequest(group.group_id, members=members), _LEAVE_VERSION)]


def rebalance(group: Group, reason: str | None) -> list[RebalanceWanted]:
    """Call all members back, as Consumer.enforceRebalance of one of them would."""
    if group.state is GroupState.EMPTY:
        raise CannotBeDone(f"group {group.group_id} is Empty: there is nobody to rebalance")
    return [RebalanceWanted(reason)]


def end_session(group: Group, now_ms: int, event: SessionEnded, effects: Effects) -> None:
    """A session is over now. One that can't end, since its member waits for an answer, goes on as it was."""
    member = group.members.get(event.member_id)
    if member is None or member.is_kept_alive:
        return
    if member.deadline_ms is not None:
        effects.append(Disarm(member.timer_key))
    session_expired(group, now_ms, event.member_id, effects)


def want_rebalance(group: Group, now_ms: int, event: RebalanceWanted, effects: Effects) -> None:
    """All members are called back, as after a JoinGroup of the leader. Nothing happens where there are none, or where
    they are being called back already.
    """
    if group.can_rebalance and group.state is not GroupState.EMPTY:
        begin(group, now_ms, effects, Trigger(Cause.ENFORCED, reason=event.reason))

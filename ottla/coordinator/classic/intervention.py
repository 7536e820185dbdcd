"""What is done to a group from outside, by no client: a test has one member's session end, or wants a rebalance.

The result is what the same thing would lead to if it came by itself: these are other ways into `sessions` and
`rebalance`, and add nothing of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic import rebalance
from ottla.coordinator.classic.sessions import session_expired
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.notes import Cause
from ottla.coordinator.runtime.effects import Disarm

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import RebalanceWanted, SessionEnded
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects


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
        rebalance.begin(group, now_ms, effects, rebalance.Trigger(Cause.ENFORCED, reason=event.reason))

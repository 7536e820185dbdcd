"""What is seen of a classic group: its members, what they read and were given, and what the group waits for.

What members tell each other is decoded where they are consumers. Of others it is unknown, and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import CONSUMER
from ottla.coordinator.kinds.view import MemberView, WaitsFor
from ottla.protocol.consumer import read_assignment, read_subscribed_topics
from ottla.protocol.primitives import DecodeError

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member


def members(group: Group) -> tuple[MemberView, ...]:
    """The members in the order in which they came."""
    is_consumer = group.protocol_type == CONSUMER
    return tuple(
        MemberView(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            _subscription(member) if is_consumer else (),
            _assignment(member) if is_consumer else {},
            member.session_timeout_ms,
            member.rebalance_timeout_ms,
            None if member.deadline_ms is None or member.is_new else member.deadline_ms - member.session_timeout_ms,
        )
        for member in group.members.values()
    )


def _subscription(member: Member) -> tuple[str, ...]:
    """By its first protocol: all of them say the same."""
    try:
        return tuple(read_subscribed_topics(member.protocols[0].metadata)) if member.protocols else ()
    except DecodeError:
        return ()


def _assignment(member: Member) -> dict[str, tuple[int, ...]]:
    try:
        assigned = read_assignment(member.assignment).assigned_partitions
    except DecodeError:
        return {}
    return {topic.topic: tuple(topic.partitions) for topic in assigned}


def waits_for(group: Group) -> WaitsFor | None:
    """What has to come before the rebalance goes on, or from members that still owe a SyncGroup."""
    if group.rebalance is not None and group.state is GroupState.PREPARING_REBALANCE:
        if group.rebalance.is_stuck:
            return WaitsFor("a protocol in common", tuple(group.members))
        if group.rebalance.initial_delay is not None:
            return WaitsFor("more members", until_ms=group.join_deadline_ms)
        missing = [member.member_id for member in group.members.values() if member.parked_join is None]
        return WaitsFor("JoinGroup", (*missing, *group.pending_joins), group.join_deadline_ms)
    if group.state is GroupState.COMPLETING_REBALANCE and group.leader_id not in group.pending_syncs:
        return WaitsFor("the assignment in the log")
    if group.state is GroupState.COMPLETING_REBALANCE and group.leader_id is not None:
        return WaitsFor("SyncGroup", (group.leader_id,), group.sync_deadline_ms)
    return WaitsFor("SyncGroup", tuple(group.pending_syncs), group.sync_deadline_ms) if group.pending_syncs else None

"""Heartbeat (api key 12), v0–v4: a member says it is alive, and learns whether the group rebalances.

The answer depends on two things only: whether the group has the member that the request names (member_id,
group_instance_id, generation_id), and the group's state, looked up in `decisions.HEARTBEAT`. The same cell says whether
the session's deadline moves to now + session_timeout_ms; a stale generation_id never moves it.

v3 adds group_instance_id (KIP-345). Nothing else in a coordinator runs as often, so nothing here is made that can be
shared. Kafka: GroupMetadataManager.classicGroupHeartbeatToClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic.answers import HEARTBEATS
from ottla.coordinator.classic.decisions import HEARTBEAT
from ottla.coordinator.classic.members import keep_alive
from ottla.coordinator.classic.situations import situate
from ottla.coordinator.runtime.effects import Reply

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import HeartbeatRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects


def heartbeat(group: Group, now_ms: int, event: HeartbeatRequested, effects: Effects) -> None:
    """Answer a Heartbeat, and let the member live on if it may."""
    request = event.request
    situation = situate(group, request.member_id, request.group_instance_id, request.generation_id)
    error, keeps_session = HEARTBEAT[group.state][situation]
    if keeps_session:
        keep_alive(group.members[request.member_id], now_ms, effects)
    effects.append(Reply(event.token, HEARTBEATS[error]))

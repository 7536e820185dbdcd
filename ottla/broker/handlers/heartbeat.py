"""Heartbeat (api key 12), v0–v4: a member says it is alive, and learns whether its group is rebalancing.

Answered by the group's task from `coordinator.states.HEARTBEAT`; the answer of a partition that is being loaded is a
blind success, so that no member gives up meanwhile.

v1 adds throttle_time_ms, v3 group_instance_id (KIP-345), v4 is flexible.

Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, and of the coordinator
INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Kafka: GroupMetadataManager.classicGroupHeartbeat.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.coordinator.classic.events import HeartbeatRequested
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(request: HeartbeatRequest, call: Call) -> None:
    call.node.coordinator.submit(request.group_id, HeartbeatRequested(call, request))


def refuse(request: HeartbeatRequest, error_code: int) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error_code)

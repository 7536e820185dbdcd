"""LeaveGroup (api key 13), v0–v5: members leave, so that the rest need not wait for their sessions to expire.

Up to v2 it is one member, whose error is the answer's. From v3 on there may be several, static ones by instance id
alone, each with an answer of its own (KIP-345). v1 adds throttle_time_ms, v4 is flexible, v5 adds the reason (KIP-800).

Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, INVALID_GROUP_ID, and of the coordinator NOT_COORDINATOR,
COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE. Kafka: GroupMetadataManager.classicGroupLeave.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.coordinator.classic.events import LeaveRequested
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse


def handle(request: LeaveGroupRequest, call: Call) -> None:
    call.node.coordinator.submit(
        request.group_id, LeaveRequested(call, request, call.api_version), is_long=not call.is_brief
    )


def refuse(request: LeaveGroupRequest, error_code: int) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error_code)

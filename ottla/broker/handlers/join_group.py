"""JoinGroup (api key 11), v0–v9: a member joins its group, or comes back to it for the next generation.

Answered by the group's task: at once when something is wrong or nothing has changed, else when all members are in or
the time for that is up.

v1 adds rebalance_timeout_ms (before, the session timeout served for both), v2 throttle_time_ms. From v4 on a new
dynamic member is first given an id to come back with (KIP-394). v5 adds group_instance_id (KIP-345), v6 is flexible, v7
has the protocol type in the answer and allows no protocol name, v8 adds the reason (KIP-800), v9 skip_assignment
(KIP-814).

Errors: MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, INVALID_SESSION_TIMEOUT,
GROUP_MAX_SIZE_REACHED, INVALID_GROUP_ID, and of the coordinator NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
COORDINATOR_NOT_AVAILABLE. Kafka: GroupMetadataManager.classicGroupJoin.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.cluster.uuids import random_hex_uuid
from ottla.coordinator.classic.events import JoinRequested
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse


def handle(request: JoinGroupRequest, call: Call) -> None:
    new_uuid = "" if request.member_id else random_hex_uuid(call.node.cluster.random_source.randbytes)
    event = JoinRequested(call, request, call.api_version, call.client_id, call.client_host, new_uuid)
    call.node.coordinator.submit(request.group_id, event, is_long=not call.is_brief)


def refuse(request: JoinGroupRequest, error_code: int) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error_code, generation_id=-1, protocol_name="")

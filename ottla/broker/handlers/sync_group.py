"""SyncGroup (api key 14), v0–v5: the leader hands in everybody's assignment, and everybody gets their own.

Answered by the group's task, for those who come before the leader when the leader has come and the assignment is
written.

v1 adds throttle_time_ms, v3 group_instance_id (KIP-345), v4 is flexible, v5 says protocol type and name in both
directions and will not do without (KIP-559).

Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, INCONSISTENT_GROUP_PROTOCOL,
INVALID_GROUP_ID, and of the coordinator NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
Kafka: KafkaApis.handleSyncGroupRequest, GroupMetadataManager.classicGroupSync.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.network.call import Call
from ottla.coordinator.classic.events import SyncRequested
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_REQUIRED_FROM: Final = 5


def handle(request: SyncGroupRequest, call: Call) -> SyncGroupResponse | None:
    has_protocol = request.protocol_type is not None and request.protocol_name is not None
    if call.api_version >= _PROTOCOL_REQUIRED_FROM and not has_protocol:
        return refuse(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    call.node.coordinator.submit(request.group_id, SyncRequested(call, request), is_long=not call.is_brief)
    return None


def refuse(request: SyncGroupRequest, error_code: int) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error_code)

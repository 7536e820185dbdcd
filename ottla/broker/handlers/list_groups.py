"""ListGroups (api key 16), v0–v5: the groups this node coordinates.

v1 adds throttle_time_ms, v3 is flexible, v4 has each group's state and a filter by it (KIP-518), v5 the same for the
type (KIP-848); both filters pass over upper and lower case.

Errors: COORDINATOR_LOAD_IN_PROGRESS, and then no groups; COORDINATOR_NOT_AVAILABLE.
Kafka: GroupCoordinatorService.listGroups.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(request: ListGroupsRequest, call: Call) -> ListGroupsResponse:
    return call.node.coordinator.list_groups(request)


def refuse(request: ListGroupsRequest, error_code: int) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error_code)

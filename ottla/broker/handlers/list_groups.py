"""ListGroups (api key 16), v0–v5: the groups this node coordinates.

v1 adds throttle_time_ms, v3 is flexible, v4 has each group's state and a filter by it (KIP-518), v5 the same for the
type (KIP-848); both filters pass over upper and lower case.

Errors: COORDINATOR_LOAD_IN_PROGRESS, and then no groups; COORDINATOR_NOT_AVAILABLE.
Kafka: GroupCoordinatorService.listGroups.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows, allows_on_cluster, asks
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from ottla.security.authorizer import AclOperation, AclResourceType


def handle(request: ListGroupsRequest, call: Call) -> ListGroupsResponse:
    response = call.node.coordinator.list_groups(request)
    if asks(call) and not allows_on_cluster(call, AclOperation.DESCRIBE):
        response.groups = [
            group
            for group in response.groups
            if allows(call, AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id)
        ]
    return response


def refuse(request: ListGroupsRequest, error_code: int) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error_code)

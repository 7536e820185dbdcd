"""DeleteGroups (api key 42), v0–v3: groups without members go, with all they have committed.

A group named twice is deleted once. v1 is as v0, v2 is flexible, v3 has room for a text beside the error (KIP-1331);
Kafka, too, leaves it null for the errors of other groups than those of streams.

Errors, for each group: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
COORDINATOR_NOT_AVAILABLE. Kafka: KafkaApis.handleDeleteGroupsRequest, GroupCoordinatorShard.deleteGroups.
"""

from __future__ import annotations

from ottla.broker.groups.gather import Gather
from ottla.broker.network.call import Call
from ottla.coordinator.offsets.events import DeleteRequested
from ottla.pacing import paced
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse


def handle(request: DeleteGroupsRequest, call: Call) -> None:
    group_ids = list(dict.fromkeys(request.groups_names))
    gather = Gather[DeleteGroupsResponse.DeletableGroupResult](
        len(group_ids), call, lambda results: DeleteGroupsResponse(results=results)
    )
    for index, group_id in enumerate(paced(group_ids)):
        call.node.coordinator.submit(group_id, DeleteRequested(gather.token(index)), is_long=not call.is_brief)


def refuse(request: DeleteGroupsRequest, error_code: int) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeleteGroupsResponse.DeletableGroupResult(group_id, error_code) for group_id in request.groups_names]
    )

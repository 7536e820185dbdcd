"""DescribeGroups (api key 15), v0–v6: state, protocol and members of groups, with what each member owns.

v1 adds throttle_time_ms, v3 authorized operations, v4 group_instance_id, v5 is flexible. Up to v5 a group that does not
exist is Dead without an error; from v6 on it is GROUP_ID_NOT_FOUND with a message as well (KIP-1043).

Errors, for each group: GROUP_ID_NOT_FOUND, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
Kafka: KafkaApis.handleDescribeGroupsRequest, GroupMetadataManager.describeGroups.
"""

from __future__ import annotations

from ottla.broker.groups.gather import Gather
from ottla.broker.network.call import Call
from ottla.broker.security.authorized_operations import authorized_operations
from ottla.coordinator.classic.events import DescribeRequested
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.security.authorizer import AclResourceType


def handle(request: DescribeGroupsRequest, call: Call) -> None:
    group_ids = list(dict.fromkeys(request.groups))  # who asks for a group many times is told of the same many times

    def all_together(groups: list[DescribeGroupsResponse.DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for group in groups:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = authorized_operations(call, AclResourceType.GROUP, group.group_id)
        described = dict(zip(group_ids, groups, strict=True))
        return DescribeGroupsResponse(groups=[described[group_id] for group_id in request.groups])

    gather = Gather(len(group_ids), call, all_together)
    for index, group_id in enumerate(paced(group_ids)):
        call.node.coordinator.submit(
            group_id, DescribeRequested(gather.token(index), call.api_version), is_long=not call.is_brief
        )


def refuse(request: DescribeGroupsRequest, error_code: int) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[DescribeGroupsResponse.DescribedGroup(error_code, None, group_id) for group_id in request.groups]
    )

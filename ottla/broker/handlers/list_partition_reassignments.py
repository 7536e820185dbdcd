"""ListPartitionReassignments (api key 46), v0: the partitions that are on their way to other nodes (KIP-455).

A null list of topics asks for all; what is unknown, or not being reassigned, is left out. `replicas` has all nodes that
hold the partition now, those that are to get it and those that are to lose it among them. Here a reassignment only goes
on while a node is down (`cluster.reassignment`).

Errors: CLUSTER_AUTHORIZATION_FAILED. Kafka: ControllerApis.handleListPartitionReassignments,
ReplicationControlManager.listPartitionReassignments.
"""

from __future__ import annotations

from collections.abc import Collection

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows_on_cluster
from ottla.cluster.partition_access import find_partition
from ottla.cluster.topic import Topic
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from ottla.security.authorizer import AclOperation

_Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment
_Partition = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


def handle(request: ListPartitionReassignmentsRequest, call: Call) -> ListPartitionReassignmentsResponse:
    if not allows_on_cluster(call, AclOperation.DESCRIBE):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    topics = call.node.cluster.topics
    if request.topics is None:
        found = [_ongoing(topic, range(len(topic.partitions))) for topic in paced(list(topics.values()))]
    else:
        found = [
            _ongoing(topics[asked.name], asked.partition_indexes)
            for asked in paced(request.topics)
            if asked.name in topics
        ]
    return ListPartitionReassignmentsResponse(error_message=None, topics=[topic for topic in found if topic.partitions])


def refuse(request: ListPartitionReassignmentsRequest, error_code: ErrorCode) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(
        error_code=error_code,
        error_message=None,
        topics=[
            _Topic(topic.name, [_Partition(index) for index in paced(topic.partition_indexes)])
            for topic in paced(request.topics or ())
        ],
    )


def _ongoing(topic: Topic, indexes: Collection[int]) -> ListPartitionReassignmentsResponse.OngoingTopicReassignment:
    """What is going on in these partitions, if there are such."""
    return _Topic(
        topic.name,
        [
            _Partition(index, placement.replicas, placement.adding, placement.removing)
            for index in paced(indexes)
            if find_partition(topic, index) is not None and (placement := topic.placements[index]).is_being_reassigned
        ],
    )

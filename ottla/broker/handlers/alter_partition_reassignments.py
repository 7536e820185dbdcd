"""AlterPartitionReassignments (api key 45), v0–v1: let partitions be on other nodes (KIP-455).

`replicas` are the nodes that a partition shall be on, the preferred leader first; null takes back a reassignment that
is going on. Nodes share the logs, so it is done with the answer, unless a node is down that is to have a replica: then
the partition keeps what it has until that node is up, and ListPartitionReassignments shows it.

All of a request is checked against how things were before it. With the leader's replica gone, or any other, the leader
epoch rises. v1 adds allow_replication_factor_change (KIP-860).

Errors, by partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT for no replicas, one listed twice, an
unknown node, or a way back that would lose records; INVALID_REPLICATION_FACTOR if that was not to change,
NO_REASSIGNMENT_IN_PROGRESS; UNKNOWN_SERVER_ERROR beyond 10,000 changes. On all of them, and on top:
CLUSTER_AUTHORIZATION_FAILED; REQUEST_TIMED_OUT if timeout_ms is not positive, and anything is asked for.
Kafka: ControllerApis.handleAlterPartitionReassignments, ReplicationControlManager.alterPartitionReassignments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows_on_cluster
from ottla.cluster.partition_access import find_partition
from ottla.cluster.placement import check_replicas
from ottla.cluster.reassignment import needs_unclean_election
from ottla.cluster.refused import Refused
from ottla.pacing import paced, yield_turn
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from ottla.security.authorizer import AclOperation

if TYPE_CHECKING:
    from ottla.broker.node.broker_node import BrokerNode
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Topic

_Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_Partition = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse

#: By one request. Kafka: QuorumController.MAX_RECORDS_PER_USER_OP, a record being made for each partition.
_CHANGES_MAX: Final = 10_000
#: So many partitions of a topic change in one go: to keep that takes some milliseconds if the topic is large.
_PARTITIONS_AT_ONCE: Final = 64


@dataclass(slots=True)
class _Changes:
    """What is to be done to a topic: (partition, replicas, its place in the answer)."""

    topic: Topic
    wanted: list[tuple[int, list[int] | None, AlterPartitionReassignmentsResponse.ReassignablePartitionResponse]] = (
        field(default_factory=list)
    )


def handle(request: AlterPartitionReassignmentsRequest, call: Call) -> AlterPartitionReassignmentsResponse:
    if not allows_on_cluster(call, AclOperation.ALTER):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if not request.topics:
        return AlterPartitionReassignmentsResponse()
    if request.timeout_ms <= 0:
        return refuse(request, ErrorCode.REQUEST_TIMED_OUT)
    all_changes: dict[str, _Changes] = {}
    responses = _check(request, call.node.cluster, all_changes)
    for changes in all_changes.values():
        _change(changes, call.node)
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=responses,
    )


def refuse(request: AlterPartitionReassignmentsRequest, error_code: ErrorCode) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error_code,
        error_message=None,
        responses=[
            _Topic(
                topic.name, [_Partition(asked.partition_index, error_code, None) for asked in paced(topic.partitions)]
            )
            for topic in paced(request.topics)
        ],
    )


def _check(
    request: AlterPartitionReassignmentsRequest, cluster: Cluster, all_changes: dict[str, _Changes]
) -> list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse]:
    """The answer, were all that is allowed done; that is added to `all_changes`, by topics."""
    responses = []
    changes_count = 0
    for asked_topic in request.topics:
        topic = cluster.topics.get(asked_topic.name)
        # Once for all its partitions: such a name may be long.
        unknown_topic = f"Unable to find a topic named {asked_topic.name}." if topic is None else ""
        results = []
        for asked in asked_topic.partitions:
            yield_turn()
            result = _Partition(asked.partition_index, NONE, None)
            results.append(result)
            try:
                if topic is None:
                    raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unknown_topic)
                _check_partition(topic, asked, cluster, may_grow=request.allow_replication_factor_change)
                changes_count += 1
                if changes_count > _CHANGES_MAX:
                    raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"More than {_CHANGES_MAX} changes in one request.")
            except Refused as refused:
                result.error_code, result.error_message = refused.error_code, refused.message
                continue
            changes = all_changes.setdefault(topic.name, _Changes(topic))
            changes.wanted.append((asked.partition_index, asked.replicas, result))
        responses.append(_Topic(asked_topic.name, results))
    return responses


def _check_partition(
    topic: Topic,
    asked: AlterPartitionReassignmentsRequest.ReassignablePartition,
    cluster: Cluster,
    *,
    may_grow: bool,
) -> None:
    """Raise `Refused` if a partition can't go where it is to go. To nodes that are down it may."""
    index = asked.partition_index
    if find_partition(topic, index) is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic.name}:{index}.")
    placement = topic.placements[index]
    if asked.replicas is None:
        if not placement.is_being_reassigned:
            raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        is_unclean = needs_unclean_election(placement)
        if is_unclean and not topic.partitions[index].config.unclean_leader_election_enable:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean "
                "leader election.",
            )
        return
    check_replicas(asked.replicas, sorted(cluster.all_nodes), None)
    have, want = len(placement.assigned), len(asked.replicas)
    if not may_grow and have != want:
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, f"The replication factor is changed from {have} to {want}")


def _change(changes: _Changes, node: BrokerNode) -> None:
    """Do it. Others have their turn in between, and the topic may be gone then."""
    topic, wanted = changes.topic, changes.wanted
    for start in range(0, len(wanted), _PARTITIONS_AT_ONCE):
        yield_turn()
        some = wanted[start : start + _PARTITIONS_AT_ONCE]
        targets: dict[int, Sequence[int] | None] = {index: replicas for index, replicas, _ in some}
        try:
            if node.cluster.topics.get(topic.name) is not topic:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            node.failover.reassign(topic, targets)
        except Refused as refused:
            for _, _, result in some:
                result.error_code, result.error_message = refused.error_code, refused.message

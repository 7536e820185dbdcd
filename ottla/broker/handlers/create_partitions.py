"""CreatePartitions (api key 37), v0–v3: give topics more partitions. What is in the old ones stays where it is.

`count` is the number there shall be in the end. The client may assign the replicas of the new partitions itself, as
many as the old ones have. With validate_only everything is checked and nothing done.

v2 is flexible, v3 only allows a new error.

Errors, by topic: INVALID_REQUEST for a name listed twice (one answer), TOPIC_AUTHORIZATION_FAILED,
UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS if `count` is no increase, INVALID_REPLICA_ASSIGNMENT. On all of them
REQUEST_TIMED_OUT if timeout_ms is not positive, POLICY_VIOLATION for more than 10,000 new partitions at once.
Kafka: ControllerApis.createPartitions, ReplicationControlManager.createPartitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.cluster.cluster import Cluster
from ottla.cluster.placement import check_replicas, place
from ottla.cluster.refused import Refused
from ottla.cluster.topic import Topic
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from ottla.security.authorizer import AclOperation, AclResourceType

#: By one request. Kafka: QuorumController.MAX_RECORDS_PER_USER_OP, a record being made for each partition.
_PARTITIONS_ADDED_MAX: Final = 10_000

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


def handle(request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    times_listed = Counter(topic.name for topic in request.topics)
    results = [
        _Result(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        for name, times in times_listed.items()
        if times > 1
    ]
    wanted = []
    for asked in paced(request.topics):
        if times_listed[asked.name] > 1:
            continue
        if allows(call, AclOperation.ALTER, AclResourceType.TOPIC, asked.name):
            wanted.append(asked)
        else:
            results.append(_Result(asked.name, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    if wanted and request.timeout_ms <= 0:
        return refuse(request, ErrorCode.REQUEST_TIMED_OUT)
    cluster = call.node.cluster
    if _partitions_asked_for(cluster, wanted) > _PARTITIONS_ADDED_MAX:
        return refuse(
            request, ErrorCode.POLICY_VIOLATION, "Excessively large number of additional partitions per request."
        )
    for asked in paced(wanted):
        try:
            topic = cluster.topics.get(asked.name)
            if topic is None:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            assignment = _place(cluster, topic, asked)
            if not request.validate_only:
                cluster.add_partitions(topic, assignment, call.client_id)
        except Refused as refused:
            results.append(_Result(asked.name, refused.error_code, refused.message))
            continue
        results.append(_Result(asked.name))
    return CreatePartitionsResponse(results=results)


def refuse(
    request: CreatePartitionsRequest, error_code: ErrorCode, message: str | None = None
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(results=[_Result(topic.name, error_code, message) for topic in request.topics])


def _partitions_asked_for(cluster: Cluster, wanted: Iterable[CreatePartitionsRequest.CreatePartitionsTopic]) -> int:
    """How many all topics together would get; those that are not there, or would not grow, count for none."""
    have = ((asked.count, cluster.topics.get(asked.name)) for asked in wanted)
    return sum(max(count - len(topic.partitions), 0) for count, topic in have if topic is not None)


def _place(cluster: Cluster, topic: Topic, asked: CreatePartitionsRequest.CreatePartitionsTopic) -> list[list[int]]:
    """Replicas for the new partitions. Raises `Refused`."""
    have = len(topic.partitions)
    if asked.count == have:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if asked.count < have:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {have} partition(s); {asked.count} would not be an increase.",
        )
    new = asked.count - have
    replication_factor = len(topic.placements[0].assigned)
    if asked.assignments is not None and len(asked.assignments) != new:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{new} partition(s) would be added, but {len(asked.assignments)} assignment(s) were specified.",
        )
    if asked.assignments is None:
        return place(cluster.node_ids, cluster.partitions_placed, new, replication_factor, cluster.node_ids_down)
    for assignment in asked.assignments:
        check_replicas(assignment.broker_ids, cluster.node_ids, replication_factor, cluster.node_ids_down)
    return [assignment.broker_ids for assignment in asked.assignments]

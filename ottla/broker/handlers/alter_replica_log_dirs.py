"""AlterReplicaLogDirs (api key 34), v1–v2: move the replicas of this node to other directories (KIP-113).

There is one directory (`log_dirs`), so all that can be asked for is that a replica be where it is. Of a partition that
is listed twice the last directory counts. v2 is flexible.

Errors, by partition: INVALID_TOPIC_EXCEPTION for a name that would be too long for the directory of a copy,
LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR for a log that is offline, REPLICA_NOT_AVAILABLE if the node has none,
UNKNOWN_TOPIC_OR_PARTITION. On all of them CLUSTER_AUTHORIZATION_FAILED.
Kafka: KafkaApis.handleAlterReplicaLogDirsRequest, ReplicaManager.alterReplicaLogDirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows_on_cluster
from ottla.cluster.log_dirs import log_dir
from ottla.cluster.partition_access import find_accessible
from ottla.pacing import paced, yield_turn
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from ottla.security.authorizer import AclOperation

#: The longest name of `topic-partition.<id>-future`, and how much of it the end takes. Kafka: UnifiedLog.
_DIRECTORY_NAME_LENGTH_MAX: Final = 255
_SUFFIX_LENGTH: Final = len(".") + 32 + len("-future")

_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Partition = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


def handle(request: AlterReplicaLogDirsRequest, call: Call) -> AlterReplicaLogDirsResponse:
    if not allows_on_cluster(call, AclOperation.ALTER):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    paths: dict[str, dict[int, str]] = {}
    for path, topic in _topics(request):
        paths.setdefault(topic.name, {}).update((index, path) for index in paced(topic.partitions))
    return AlterReplicaLogDirsResponse(
        results=[
            _Topic(name, [_Partition(index, _move(call, name, index, path)) for index, path in paced(moves.items())])
            for name, moves in paced(paths.items())
            if moves
        ]
    )


def refuse(request: AlterReplicaLogDirsRequest, error_code: ErrorCode) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            _Topic(topic.name, [_Partition(index, error_code) for index in paced(topic.partitions)])
            for _, topic in _topics(request)
        ]
    )


def _topics(
    request: AlterReplicaLogDirsRequest,
) -> Iterator[tuple[str, AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic]]:
    """All that is asked for, with the directory it is to be in."""
    for directory in request.dirs:
        for topic in directory.topics:
            yield_turn()
            yield directory.path, topic


def _move(call: Call, name: str, index: int, path: str) -> ErrorCode:
    cluster = call.node.cluster
    if len(f"{name}-{index}") + _SUFFIX_LENGTH > _DIRECTORY_NAME_LENGTH_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if path != log_dir(cluster):
        return ErrorCode.LOG_DIR_NOT_FOUND
    found = find_accessible(call.node, cluster.topics.get(name), index, leader_only=False)
    if not isinstance(found, ErrorCode):
        return NONE
    return ErrorCode.REPLICA_NOT_AVAILABLE if found == ErrorCode.NOT_LEADER_OR_FOLLOWER else found

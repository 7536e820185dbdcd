"""DescribeLogDirs (api key 35), v1–v5: how many bytes the partitions hold that lie on this node.

A null list of topics asks for all; what is unknown is left out. There is one directory: that of --data-dir, with the
sizes of its file system; or for logs in memory one whose name no file system has, and whose total is the limit on all
logs, ottla.log.bytes.max.

v2 is flexible, v3 adds a top-level error_code, v4 total_bytes and usable_bytes (KIP-827), v5 is_cordoned (KIP-1066).
Errors: CLUSTER_AUTHORIZATION_FAILED, and then no directory; before v3 that is all a client sees of it.
Kafka: KafkaApis.handleDescribeLogDirsRequest, ReplicaManager.describeLogDirs.
"""

from __future__ import annotations

import os

from ottla.broker.network.call import Call
from ottla.cluster.cluster import Cluster
from ottla.cluster.log_dirs import log_dir
from ottla.cluster.topic import Topic
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse


def handle(request: DescribeLogDirsRequest, call: Call) -> DescribeLogDirsResponse:
    cluster = call.node.cluster
    asked: dict[str, set[int]] = {}
    for wanted in paced(request.topics or ()):
        asked.setdefault(wanted.topic, set()).update(wanted.partitions)
    topics = []
    for topic in paced(list(cluster.topics.values())):
        if request.topics is None or topic.name in asked:
            partitions = _sizes(topic, None if request.topics is None else asked[topic.name], call.node.node_id)
            if partitions:
                topics.append(DescribeLogDirsResponse.DescribeLogDirsTopic(topic.name, partitions))
    path, total_bytes, usable_bytes = _directory(cluster)
    directory = DescribeLogDirsResponse.DescribeLogDirsResult(ErrorCode.NONE, path, topics, total_bytes, usable_bytes)
    return DescribeLogDirsResponse(results=[directory])


def refuse(request: DescribeLogDirsRequest, error_code: ErrorCode) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=error_code)


def _directory(cluster: Cluster) -> tuple[str, int, int]:
    """(path, size, what is left of it); sizes that the system does not tell are -1, as with Kafka."""
    path = log_dir(cluster)
    if cluster.store is None:
        account = cluster.logs.bytes
        return path, account.bytes_max, account.bytes_max - account.bytes_held
    try:
        file_system = os.statvfs(path)
    except OSError:
        return path, -1, -1
    return path, file_system.f_frsize * file_system.f_blocks, file_system.f_frsize * file_system.f_bavail


def _sizes(
    topic: Topic, asked: set[int] | None, node_id: int
) -> list[DescribeLogDirsResponse.DescribeLogDirsPartition]:
    return [
        DescribeLogDirsResponse.DescribeLogDirsPartition(partition.index, partition.size_bytes)
        for partition, placement in paced(list(zip(topic.partitions, topic.placements, strict=True)))
        if node_id in placement.replicas and (asked is None or partition.index in asked)
    ]

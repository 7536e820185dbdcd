"""Reading for one fetch: partition after partition, within the sizes it allows.

The partitions are read in the order they are asked for. The first that has anything gives at least one whole batch,
however small the limits, so that every consumer gets on; after it each gives what fits into its own limit and into
what is left of the whole. What one partition can't give is its own error and stops no other.

Kafka: ReplicaManager.readFromLog, FetchParams, Partition.fetchRecords.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.broker.fetching.fetch_session import FetchedPartition
from ottla.cluster.partition_access import NO_LEADER_EPOCH, access_error, find_partition, holds_replica
from ottla.log.partition_answers import IsolationLevel, ReadResult
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from ottla.cluster.partition_access import AskedNode
    from ottla.cluster.topic import Placement


@dataclass(slots=True)
class FetchParams:
    """What holds for all partitions of a fetch."""

    #: Negative: a consumer.
    replica_id: int
    min_bytes: int
    max_bytes: int
    #: Replicas read to the end of the log, which is as far as READ_UNCOMMITTED goes here.
    isolation: IsolationLevel
    #: Whether other replicas than the leader may not answer.
    leader_only: bool


def read_partitions(node: AskedNode, params: FetchParams, wanted: Collection[FetchedPartition]) -> list[ReadResult]:
    """Read each partition as far as the sizes go; one result for each."""
    results = []
    bytes_left = params.max_bytes
    is_first = True
    for partition in paced(wanted):
        result = _read(node, params, partition, min(partition.bytes_max, bytes_left), is_first=is_first)
        size = len(result.records)
        if size:
            is_first = False
        bytes_left = max(0, bytes_left - size)
        results.append(result)
    return results


def _read(
    node: AskedNode, params: FetchParams, wanted: FetchedPartition, bytes_max: int, *, is_first: bool
) -> ReadResult:
    topic = None if wanted.topic is None else node.cluster.topics.get(wanted.topic)
    partition = find_partition(topic, wanted.index)
    if topic is None or partition is None:
        return ReadResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    placement = topic.placements[wanted.index]
    if wanted.topic_id not in (ZERO_UUID, topic.topic_id) and holds_replica(node, placement):
        return ReadResult(ErrorCode.INCONSISTENT_TOPIC_ID)
    epoch = wanted.current_leader_epoch
    error = access_error(node, partition, placement, epoch, leader_only=params.leader_only)
    if not error and params.replica_id >= 0:
        error = _follower_error(node, placement, params.replica_id, epoch)
    if error:
        return ReadResult(error)
    return partition.read(
        wanted.fetch_offset,
        bytes_max,
        params.isolation,
        is_first=is_first,
        last_fetched_epoch=wanted.last_fetched_epoch,
    )


def _follower_error(node: AskedNode, placement: Placement, replica_id: int, current_leader_epoch: int) -> ErrorCode:
    """A replica that fetches must be one of the others. Kafka: Partition.followerReplicaOrThrow."""
    if replica_id in placement.replicas and replica_id != node.node_id:
        return ErrorCode.NONE
    is_old_client = current_leader_epoch == NO_LEADER_EPOCH
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_old_client else ErrorCode.UNKNOWN_LEADER_EPOCH

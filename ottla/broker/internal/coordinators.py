"""Which node coordinates what: the one that leads the partition of the internal topic that a name hashes to.

Kafka: KafkaApis.getCoordinator, GroupCoordinatorService.partitionFor, TransactionStateManager.partitionFor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.coordinator.java_hash import partition_for

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.node import Node


def group_partition(cluster: Cluster, group_id: str) -> int:
    """The partition of __consumer_offsets that keeps a group."""
    return partition_for(group_id, cluster.group_partitions_count)


def group_coordinator(cluster: Cluster, group_id: str) -> Node | None:
    """The node that coordinates a group. None while there is no such partition, or no node leads it."""
    return _leader(cluster, GROUP_TOPIC, group_partition(cluster, group_id))


def transaction_coordinator(cluster: Cluster, transactional_id: str) -> Node | None:
    """The node that coordinates a transactional id. None while there is no such partition, or no node leads it."""
    index = partition_for(transactional_id, cluster.transaction_partitions_count)
    return _leader(cluster, TRANSACTION_TOPIC, index)


def _leader(cluster: Cluster, topic_name: str, index: int) -> Node | None:
    topic = cluster.topics.get(topic_name)
    if topic is None or index >= len(topic.placements):
        return None
    return cluster.nodes.get(topic.placements[index].leader_id)

"""Whether a node may answer for a partition's log. Requests about logs go to one node, and it may be the wrong one.

Asked in Kafka's order, the first that applies is the answer:

    the topic has no such partition                            UNKNOWN_TOPIC_OR_PARTITION
    the node holds no replica of it                            NOT_LEADER_OR_FOLLOWER
    its storage has failed                                     KAFKA_STORAGE_ERROR
    the client knows an older leader epoch                     FENCED_LEADER_EPOCH
    the client knows a newer one                               UNKNOWN_LEADER_EPOCH
    only the leader may answer, and another node leads it      NOT_LEADER_OR_FOLLOWER

All replicas share one log, so a node that holds any replica has all of it. A client that asked the wrong node can be
told the right one in the same answer, from Produce v10 and Fetch v16 on (KIP-951).

Kafka: ReplicaManager.getPartitionOrError, Partition.getLocalLog, KafkaApis.getCurrentLeader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ottla.protocol.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.node import Node
    from ottla.cluster.topic import Placement, Topic
    from ottla.log.partition import Partition

#: In requests: the client makes no claim about the leader epoch.
NO_LEADER_EPOCH: Final = -1


class AskedNode(Protocol):
    """What the checks need of the node that is asked."""

    @property
    def node_id(self) -> int:
        """Its id."""

    @property
    def cluster(self) -> Cluster:
        """The cluster it belongs to."""


def find_partition(topic: Topic | None, index: int) -> Partition | None:
    """The partition with this number, if there is one."""
    return topic.partitions[index] if topic is not None and 0 <= index < len(topic.partitions) else None


def holds_replica(node: AskedNode, placement: Placement) -> bool:
    """Whether the partition's log is on this node."""
    return node.node_id in placement.replicas


def access_error(
    node: AskedNode,
    partition: Partition,
    placement: Placement,
    current_leader_epoch: int = NO_LEADER_EPOCH,
    *,
    leader_only: bool = True,
) -> ErrorCode:
    """Why this node may not answer for the partition; NONE: it may. `leader_only`: any other replica may not."""
    is_leader = placement.leader_id == node.node_id
    if not is_leader and not holds_replica(node, placement):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if partition.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    error = partition.check_leader_epoch(current_leader_epoch)
    if error:
        return error
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if leader_only and not is_leader else NONE


def find_accessible(
    node: AskedNode,
    topic: Topic | None,
    index: int,
    current_leader_epoch: int = NO_LEADER_EPOCH,
    *,
    leader_only: bool = True,
) -> Partition | ErrorCode:
    """The partition with this number, or why this node may not answer for it."""
    partition = find_partition(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic is not None
    placement = topic.placements[index]
    return access_error(node, partition, placement, current_leader_epoch, leader_only=leader_only) or partition


def current_leader(node: AskedNode, topic: Topic | None, index: int) -> tuple[int, int, Node | None]:
    """(leader's node id, leader epoch, its node if that is up), with -1 for what is unknown."""
    partition = find_partition(topic, index)
    if topic is None or partition is None:
        return -1, -1, None
    leader_id = topic.placements[index].leader_id
    return leader_id, partition.leader_epoch, node.cluster.nodes.get(leader_id)

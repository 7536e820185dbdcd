"""Changes of leaders: a partition gets another leader, a group another coordinator.

Clients see what they see after a reassignment: NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR from the node they know, a new
leader epoch, and the new node in metadata and FindCoordinator. The nodes themselves go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.internal.coordinators import group_partition
from ottla.cluster.failover import NodeState
from ottla.cluster.refused import Refused
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.control.changes.topics import ChangeRefused
from ottla.control.state.topics import find_log, find_topic

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster


def move_leader(services: Services, cluster: Cluster, name: str, partition: int, to: int) -> None:
    """Have the node `to` lead this partition from now on. If it does already, nothing happens.

    A node that held no replica takes the one of the leader's. Raises `NoSuchTopic`, and `ChangeRefused` if the node is
    not up.
    """
    topic, index = find_topic(cluster, name), find_log(cluster, name, partition).index
    node, failover = cluster.all_nodes.get(to), services.failover
    if node is None or failover.state_of(node) is not NodeState.UP:
        up = ", ".join(str(one.node_id) for one in cluster.nodes.values() if failover.state_of(one) is NodeState.UP)
        raise ChangeRefused(f"node {to} can't lead {name}-{partition}: it is not up; those are {up or 'none'}")
    if topic.placements[index].leader_id == to:
        return
    try:
        failover.move_leader(topic, index, node)
    except Refused as refused:
        raise ChangeRefused(f"{name}-{partition} stays where it is: {refused.message}") from None


def move_coordinator(services: Services, cluster: Cluster, group_id: str, to: int) -> None:
    """Have the node `to` coordinate this group, and the others in its partition of __consumer_offsets.

    It reads them from the log, so members keep their generation and their sessions begin anew. Raises `ChangeRefused`.
    """
    if GROUP_TOPIC not in cluster.topics:
        raise ChangeRefused(f"nobody coordinates group {group_id} yet: no group has been asked for")
    move_leader(services, cluster, GROUP_TOPIC, group_partition(cluster, group_id), to)

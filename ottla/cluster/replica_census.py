"""Which nodes the topics of a data directory were assigned to, compared with those that are there now.

A cluster may be started with more nodes than it had, or with fewer. Topics stay where they were assigned, as with
Kafka. An event at the start tells of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster

_FEWER_NODES: Final = (
    "the data directory is of more nodes: their replicas are down; start with as many --nodes as before to have them "
    "back"
)
_MORE_NODES: Final = (
    "the data directory is of fewer nodes: topics keep their replicas, new ones use all nodes; reassign the partitions "
    "of a topic to have replicas there"
)


def tell_of_other_nodes(cluster: Cluster) -> None:
    """Tell which nodes of topics do not exist, and which nodes have no partition."""
    assigned = [set(placement.assigned) for topic in cluster.topics.values() for placement in topic.placements]
    there, holding = set(cluster.all_nodes), set[int]().union(*assigned)
    if missing := holding - there:
        partitions = sum(not replicas <= there for replicas in assigned)
        cluster.events.tell(
            Kind.NODES_MISSING, missing_nodes=sorted(missing), partitions=partitions, reason=_FEWER_NODES
        )
    if holding and (idle := there - holding):
        cluster.events.tell(Kind.NODES_WITHOUT_REPLICAS, idle_nodes=sorted(idle), reason=_MORE_NODES)

"""Nodes that go and come, and who leads what then."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

NODE_STOPPED: Final = Row("node.stopped", "info", ("is_hard",), "A node was stopped, gently or as if it had died.")
NODE_MISSED: Final = Row("node.missed", "warning", (), "A node that died is missed now, ottla.failover.ms later.")
NODE_STARTED: Final = Row("node.started", "info", (), "A node that was stopped is up again.")
NODES_MISSING: Final = Row(
    "nodes.missing",
    "warning",
    ("missing_nodes", "partitions", "reason"),
    "The data directory has so many partitions with replicas on nodes that are not there: they are down, and the "
    "partitions wait for them. Start with as many --nodes as before to have them back, or reassign the partitions.",
)
NODES_WITHOUT_REPLICAS: Final = Row(
    "nodes.without.replicas",
    "warning",
    ("idle_nodes", "reason"),
    "The topics of the data directory were made without these nodes, and stay where they were, as with Kafka; new ones "
    "use all nodes. Reassign the partitions (AlterPartitionReassignments) to have replicas there.",
)
LEADERS_MOVED: Final = Row(
    "leaders.moved", "info", ("partitions",), "So many partitions have another leader, or none any more."
)
PARTITIONS_IN_SYNC: Final = Row(
    "partitions.in.sync",
    None,
    ("partitions",),
    "So many partitions may have enough replicas in sync again: more are, or fewer have to be.",
)
NODE_DIED: Final = Row("node.died", None, (), "A node went without a word; clients are told of it until it is missed.")
PARTITION_LEADER_CHANGED: Final = Row(
    "partition.leader.changed",
    None,
    ("topic", "partition", "leader_id", "former_leader_id", "leader_epoch"),
    "A partition has another leader; -1: none.",
)
REPLICAS_MOVED: Final = Row(
    "replicas.moved", "info", ("partitions",), "So many partitions are on other nodes, or in another order of them."
)
PARTITION_REASSIGNED: Final = Row(
    "partition.reassigned",
    None,
    ("topic", "partition", "replicas", "former_replicas", "adding_replicas", "removing_replicas"),
    "A partition has other replicas; `adding_replicas` and `removing_replicas` while its reassignment goes on.",
)

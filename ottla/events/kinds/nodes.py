"""Nodes that go and come, and who leads what then."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.row import Row

NODE_STOPPED: Final = Row(
    "node.stopped", "info", ("is_hard",), "A node was stopped, in order or as if it had died (`is_hard`)."
)
NODE_MISSED: Final = Row("node.missed", "warning", (), "A node that died is now fenced, ottla.failover.ms later.")
NODE_STARTED: Final = Row("node.started", "info", (), "A stopped node is up again.")
NODES_MISSING: Final = Row(
    "nodes.missing",
    "warning",
    ("missing_nodes", "partitions", "reason"),
    "The data directory has `partitions` partitions with replicas on nodes that do not exist now. These replicas "
    "count as down. Start with the earlier number of --nodes, or reassign the partitions.",
)
NODES_WITHOUT_REPLICAS: Final = Row(
    "nodes.without.replicas",
    "warning",
    ("idle_nodes", "reason"),
    "The topics of the data directory have no replicas on these nodes, which are new; as in Kafka, only new topics "
    "use them. Reassign the partitions (AlterPartitionReassignments) to change this.",
)
LEADERS_MOVED: Final = Row(
    "leaders.moved",
    "info",
    ("partitions",),
    "The leaders of `partitions` partitions have changed; some may have no leader.",
)
PARTITIONS_IN_SYNC: Final = Row(
    "partitions.in.sync",
    None,
    ("partitions",),
    "`partitions` partitions may have enough replicas in sync again: more replicas are in sync, or fewer are required.",
)
NODE_DIED: Final = Row("node.died", None, (), "A node died; metadata still shows it until it is fenced.")
PARTITION_LEADER_CHANGED: Final = Row(
    "partition.leader.changed",
    None,
    ("topic", "partition", "leader_id", "former_leader_id", "leader_epoch"),
    "A partition has another leader; -1 means no leader.",
)
REPLICAS_MOVED: Final = Row(
    "replicas.moved", "info", ("partitions",), "The replicas of `partitions` partitions, or their order, have changed."
)
PARTITION_REASSIGNED: Final = Row(
    "partition.reassigned",
    None,
    ("topic", "partition", "replicas", "former_replicas", "adding_replicas", "removing_replicas"),
    "A partition has other replicas. `adding_replicas` and `removing_replicas` are set until the reassignment is "
    "complete.",
)

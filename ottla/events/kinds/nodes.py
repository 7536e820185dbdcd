"""Nodes that go and come, and who leads what then."""

from __future__ import annotations

from typing import Final

from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.phrases import counted


class NodeEvents:
    """The kinds, by their names in code."""

    NODE_STOPPED: Final = EventKind(
        "node.stopped",
        "info",
        ("is_hard",),
        "A node was stopped, in order or as if it had died (`is_hard`).",
        says=lambda d: "stopped, as if it died" if d.get("is_hard") else "stopped in order",
    )
    NODE_MISSED: Final = EventKind(
        "node.missed",
        "warning",
        (),
        "A node that died is now fenced, ottla.failover.ms later.",
        says=lambda _d: "fenced: others take over",
    )
    NODE_STARTED: Final = EventKind(
        "node.started", "info", (), "A stopped node is up again.", says=lambda _d: "started"
    )
    NODES_MISSING: Final = EventKind(
        "nodes.missing",
        "warning",
        ("missing_nodes", "partitions", "reason"),
        "The data directory has `partitions` partitions with replicas on nodes that do not exist now. These replicas "
        "count as down. Start with the earlier number of --nodes, or reassign the partitions.",
        says=lambda d: (
            f"replicas of {counted(d['partitions'], 'partition')} are on missing nodes: {d['missing_nodes']}"
        ),
    )
    NODES_WITHOUT_REPLICAS: Final = EventKind(
        "nodes.without.replicas",
        "warning",
        ("idle_nodes", "reason"),
        "The topics of the data directory have no replicas on these nodes, which are new; as in Kafka, only new topics "
        "use them. Reassign the partitions (AlterPartitionReassignments) to change this.",
        says=lambda d: f"no topic of the data directory has replicas on nodes {d['idle_nodes']}",
    )
    LEADERS_MOVED: Final = EventKind(
        "leaders.moved",
        "info",
        ("partitions",),
        "The leaders of `partitions` partitions have changed; some may have no leader.",
        says=lambda d: f"another leader for {counted(d['partitions'], 'partition')}",
        is_minor=True,
    )
    PARTITIONS_IN_SYNC: Final = EventKind(
        "partitions.in.sync",
        None,
        ("partitions",),
        "`partitions` partitions may have enough replicas in sync again: more replicas are in sync, or fewer are "
        "required.",
        says=lambda d: f"more replicas in sync for {counted(d['partitions'], 'partition')}",
        is_minor=True,
    )
    NODE_DIED: Final = EventKind("node.died", None, (), "A node died; metadata still shows it until it is fenced.")
    PARTITION_LEADER_CHANGED: Final = EventKind(
        "partition.leader.changed",
        None,
        ("topic", "partition", "leader_id", "former_leader_id", "leader_epoch"),
        "A partition has another leader; -1 means no leader.",
        says=lambda d: f"{d['topic']}-{d['partition']} is led by {d['leader_id']}",
    )
    REPLICAS_MOVED: Final = EventKind(
        "replicas.moved",
        "info",
        ("partitions",),
        "The replicas of `partitions` partitions, or their order, have changed.",
        says=lambda d: f"other replicas for {counted(d['partitions'], 'partition')}",
        is_minor=True,
    )
    PARTITION_REASSIGNED: Final = EventKind(
        "partition.reassigned",
        None,
        ("topic", "partition", "replicas", "former_replicas", "adding_replicas", "removing_replicas"),
        "A partition has other replicas. `adding_replicas` and `removing_replicas` are set until the reassignment is "
        "complete.",
        says=lambda d: f"{d['topic']}-{d['partition']} is on nodes {d['replicas']}",
    )

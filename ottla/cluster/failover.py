"""Nodes that stop and start: which node leads then, when clients learn of it, when the preferred leader leads again.

    node dies ──── ottla.failover.ms ────▶ it is fenced: leaders move     until now it was in metadata
    node leaves ─────────────────────────▶ leaders move at once, before it stops
    node is back ────────────────────────▶ it leads partitions without a leader, and is in sync with the rest

A dead node is not fenced at once; in Kafka this takes the nine seconds of broker.session.timeout.ms. Until then it is
in metadata and in sync, and so the high watermarks of its partitions stand still: acks=all and readers wait.

Leaders go back to the first replica of each partition, which spreads them evenly, after ElectLeaders, or within
leader.imbalance.check.interval.seconds. `election` decides an election; this module applies it. All nodes share the
logs, so no replica has to catch up, and a reassignment (`reassignment`) is complete at once if the new replicas are up.

Kafka: ReplicationControlManager, BrokerHeartbeatManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from ottla.cluster.election import Election, catch_up, elect, remove_node
from ottla.cluster.reassignment import complete, reassign, revert
from ottla.cluster.topic import NO_LEADER, Placement, Topic
from ottla.events.kind import Kind
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.node import Node
    from ottla.log.partition import Partition
    from ottla.purgatory import Timer

_MS_PER_SECOND = 1000


class NodeState(Enum):
    """The state of a node as the cluster knows it."""

    UP = "up"
    #: Down, and still in metadata.
    SILENT = "silent"
    DOWN = "down"


class Failover:
    """Moves leaders when nodes stop and start."""

    def __init__(self, cluster: Cluster, timer: Timer) -> None:
        self._cluster = cluster
        self._timer = timer
        #: By id of a silent node: the alarm that fences it.
        self._alarms: dict[int, Alarm] = {}
        #: Nodes that died; a node that leaves stops in order.
        self._crashed: set[int] = set()
        #: Called with the id of a node before it is fenced. True: the called part will call `miss` later.
        self.keep_back: Callable[[int], bool] | None = None
        self._balancing = Alarm(self._balance_in_time, "preferred leaders")

    def state_of(self, node: Node) -> NodeState:
        if node.node_id in self._cluster.silent_node_ids:
            return NodeState.SILENT
        return NodeState.UP if node.node_id in self._cluster.nodes else NodeState.DOWN

    def silence_of(self, node: Node) -> object:
        """An object that stays the same as long as the node is silent; None if it isn't."""
        return self._alarms.get(node.node_id)

    def node_died(self, node: Node) -> None:
        """The node has stopped without telling the cluster."""
        cluster, node_id = self._cluster, node.node_id
        cluster.silent_node_ids.add(node_id)
        self._crashed.add(node_id)
        cluster.events.tell(Kind.NODE_DIED, node_id=node_id)
        for topic, index, placement in self._placements():
            if node_id in placement.isr:
                topic.hold_or_release(index)
        alarm = self._alarms[node_id] = Alarm(lambda: self._miss_in_time(node), f"failover of node {node.node_id}")
        self._timer.add_in(alarm, cluster.settings["ottla.failover.ms"])

    def node_leaves(self, node: Node) -> None:
        """The node stops in order: other nodes lead from now on. Kafka: controlled shutdown."""
        self._remove(node)

    def node_returns(self, node: Node) -> None:
        """The node is up again; it may have been fenced or not."""
        cluster, node_id = self._cluster, node.node_id
        alarm = self._alarms.pop(node_id, None)
        if alarm is not None:
            self._timer.cancel(alarm)
            self._remove(node)
        if node_id in self._crashed:
            self._crashed.discard(node_id)
            self._change(lambda placement, *rules: remove_node(placement, node_id, *rules, has_crashed=True))
        cluster.nodes = {known: cluster.all_nodes[known] for known in sorted([*cluster.nodes, node_id])}
        self._change(
            lambda placement, *rules: elect(placement, *rules) if placement.leader_id == NO_LEADER else placement
        )

    def elect(self, topic: Topic, index: int, election: Election) -> bool:
        """Hold an election for one partition. Returns whether it has changed anything."""
        after = elect(topic.placements[index], self._cluster.nodes, _min_isr(topic, index), election)
        return self._apply([(topic, index, after)])

    def move_leader(self, topic: Topic, index: int, node: Node) -> None:
        """Have this node lead a partition, as after a reassignment that puts it first and the election of the first.

        If it held no replica, it takes that of the leader, or of the first node. It must be up. Raises `Refused` if
        that can't be stored.
        """
        before, node_id = topic.placements[index], node.node_id
        gone = before.leader_id if before.leader_id in before.replicas else before.replicas[0]
        if node_id in before.replicas:
            gone = node_id
        replicas = [node_id, *(replica for replica in before.replicas if replica != gone)]
        assigned = [placement.assigned for placement in topic.placements]
        assigned[index] = replicas
        self._cluster.keep_topic(topic.name, topic.topic_id, topic.configs, assigned)
        before.replicas, before.absent, before.adding, before.removing = replicas, [], [], []
        before.isr = [replica for replica in before.isr if replica in replicas]
        if node_id not in before.isr:
            before.isr = sorted([*before.isr, node_id])
        self.elect(topic, index, Election.PREFERRED)

    def reassign(self, topic: Topic, targets: Mapping[int, Sequence[int] | None]) -> None:
        """Reassign partitions of a topic, by their numbers, to these nodes; None: end the reassignment in progress.

        If a new node is down, the reassignment completes when it is up. Checks nothing. Raises `Refused` if it can't
        be stored.

        Kafka: changePartitionReassignment, cancelPartitionReassignment.
        """
        cluster = self._cluster
        assigned: dict[int, list[int]] = {}
        changes = []
        for index, target in targets.items():
            before, min_isr = topic.placements[index], _min_isr(topic, index)
            if target is not None:
                start = reassign(before, target)
                after = elect(start, cluster.nodes, min_isr)
            else:
                start, isr = revert(before)
                after = elect(start, cluster.nodes, min_isr, _election(topic, index), isr=isr)
            assigned[index] = start.assigned
            if after != before or before.absent:
                changes.append((topic, index, after))
        if not changes:
            return
        if cluster.store is not None:
            replicas = [assigned.get(index, placement.assigned) for index, placement in enumerate(topic.placements)]
            cluster.keep_topic(topic.name, topic.topic_id, topic.configs, replicas)
        for _, index, _ in changes:
            topic.placements[index].absent = []
        self._apply(changes)

    def balance(self) -> None:
        """Make the first replica of each partition its leader, where it can be.

        Kafka: maybeTriggerLeaderChangeForPartitionsWithoutPreferredLeader.
        """
        self._change(lambda placement, active, min_isr, _: elect(placement, active, min_isr, Election.PREFERRED))

    def _balance_in_time(self) -> None:
        try:
            self.balance()
        except Exception:
            self._arm_balancing()
            raise

    def _miss_in_time(self, node: Node) -> None:
        if self.keep_back is None or not self.keep_back(node.node_id):
            self.miss(node)

    def miss(self, node: Node) -> None:
        """Fence a silent node: it leaves metadata, and other nodes lead from now on."""
        del self._alarms[node.node_id]
        self._remove(node)
        self._cluster.events.tell(Kind.NODE_MISSED, node_id=node.node_id)

    def _remove(self, node: Node) -> None:
        """Move its leaders, and remove it from metadata."""
        node_id = node.node_id
        self._cluster.silent_node_ids.discard(node_id)
        del self._cluster.nodes[node_id]
        self._change(
            lambda placement, *rules: (
                remove_node(placement, node_id, *rules, has_crashed=False) if node_id in placement.isr else placement
            )
        )

    def _change(self, change: Callable[[Placement, Collection[int], int, Election], Placement]) -> None:
        """Change the placements of all partitions. `change` gets each with the rules for its elections."""
        active = self._cluster.nodes
        changes = []
        for topic, index, placement in self._placements():
            election = _election(topic, index)
            changes.append((topic, index, change(placement, active, _min_isr(topic, index), election)))
        self._apply(changes)

    def _apply(self, changes: list[tuple[Topic, int, Placement]]) -> bool:
        """Apply the placements, and tell the events of it. Returns whether anything has changed."""
        cluster = self._cluster
        caught_up = cluster.nodes.keys() - cluster.silent_node_ids
        moved: list[tuple[Topic, int, int]] = []
        reassigned: list[tuple[Topic, int, list[int]]] = []
        led_anew: list[Partition] = []
        indexes_moved: dict[Topic, list[int]] = {}
        in_sync_anew = 0
        is_different = is_imbalanced = False
        for topic, index, change in changes:
            min_isr = _min_isr(topic, index)
            after = complete(catch_up(change, caught_up, min_isr), cluster.nodes, min_isr)
            before = topic.placements[index]
            if after != before:
                is_different = True
                if after.leader_id != before.leader_id:
                    moved.append((topic, index, before.leader_id))
                if after.leader_id != before.leader_id or not set(before.replicas) <= set(after.replicas):
                    led_anew.append(topic.partitions[index])
                in_sync_anew += len(after.isr) > len(before.isr)
                if after.replicas != before.replicas:
                    reassigned.append((topic, index, before.replicas))
                before.become(after)
                topic.hold_or_release(index)
            is_imbalanced = is_imbalanced or not before.has_preferred_leader
        for partition in led_anew:
            partition.lead(partition.leader_epoch + 1)
        for topic, index, _ in moved:
            indexes_moved.setdefault(topic, []).append(index)
        for topic, indexes in indexes_moved.items():
            topic.apply_configs(indexes)
        for topic, index, former_leader_id in moved:
            cluster.events.tell(
                Kind.PARTITION_LEADER_CHANGED,
                topic=topic.name,
                partition=index,
                leader_id=topic.placements[index].leader_id,
                former_leader_id=former_leader_id,
                leader_epoch=topic.partitions[index].leader_epoch,
            )
        if moved:
            cluster.events.tell(Kind.LEADERS_MOVED, partitions=len(moved))
        if in_sync_anew:
            cluster.events.tell(Kind.PARTITIONS_IN_SYNC, partitions=in_sync_anew)
        self._tell_reassigned(reassigned)
        if is_imbalanced:
            self._arm_balancing()
        return is_different

    def _tell_reassigned(self, reassigned: Sequence[tuple[Topic, int, list[int]]]) -> None:
        tell = self._cluster.events.tell
        for topic, index, former_replicas in reassigned:
            placement = topic.placements[index]
            tell(
                Kind.PARTITION_REASSIGNED,
                topic=topic.name,
                partition=index,
                replicas=placement.replicas,
                former_replicas=former_replicas,
                adding_replicas=placement.adding or None,
                removing_replicas=placement.removing or None,
            )
        if reassigned:
            tell(Kind.REPLICAS_MOVED, partitions=len(reassigned))

    def _arm_balancing(self) -> None:
        settings, timer = self._cluster.settings, self._timer
        if settings["auto.leader.rebalance.enable"] and not self._balancing.is_pending:
            timer.add_in(self._balancing, settings["leader.imbalance.check.interval.seconds"] * _MS_PER_SECOND)

    def _placements(self) -> Iterator[tuple[Topic, int, Placement]]:
        for topic in self._cluster.topics.values():
            for index, placement in enumerate(topic.placements):
                yield topic, index, placement


def _election(topic: Topic, index: int) -> Election:
    """The kind of election that is held when nodes stop and start."""
    return Election.UNCLEAN if topic.partitions[index].config.unclean_leader_election_enable else Election.ONLINE


def _min_isr(topic: Topic, index: int) -> int:
    return topic.placements[index].min_isr(topic.partitions[index].config.min_insync_replicas)

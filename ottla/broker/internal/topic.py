"""Which node coordinates what is kept in an internal topic: of each partition the one that leads it.

When the topic is made its partitions are handed out, and when it is deleted no node coordinates anything until it is
made anew. When a partition gets another leader, that node takes it over; the one before has resigned by then. A node
that dies has resigned at once, though clients are told of it until it is missed.

Kafka: BrokerMetadataPublisher, which is told of partitions won and lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.cluster.topic import NO_LEADER
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Topic
    from ottla.events.stream import Event
    from ottla.log.partition import Partition


class InternalTopic:
    """Follows the leaders of one topic's partitions."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        take_over: Callable[[Partition, int], None],
        resign: Callable[[int, int], None],
    ) -> None:
        """`take_over`: a node leads this partition now; `resign`: this node leads the partition no more, or is dead."""
        self._cluster = cluster
        self.name = name
        self._take_over = take_over
        self._resign = resign
        events = cluster.events
        events.read(self._created, [Kind.TOPIC_CREATED])
        events.read(self._deleted, [Kind.TOPIC_DELETED])
        events.read(self._leader_changed, [Kind.PARTITION_LEADER_CHANGED])
        events.read(self._node_died, [Kind.NODE_DIED])

    @property
    def topic(self) -> Topic | None:
        """The topic, if it is there."""
        return self._cluster.topics.get(self.name)

    def take_over_all(self) -> None:
        """Hand the partitions out, if the topic is there."""
        topic = self.topic
        if topic is not None:
            for index in range(len(topic.partitions)):
                self._let_leader_take_over(topic, index)

    def _let_leader_take_over(self, topic: Topic, index: int) -> None:
        leader_id = topic.placements[index].leader_id
        if leader_id != NO_LEADER and leader_id not in self._cluster.silent_node_ids:
            self._take_over(topic.partitions[index], leader_id)

    def _created(self, event: Event) -> None:
        if event.details["topic"] == self.name:
            self.take_over_all()

    def _deleted(self, event: Event) -> None:
        if event.details["topic"] == self.name:
            for node_id in self._cluster.all_nodes:
                for index in range(event.details["partitions"]):
                    self._resign(index, node_id)

    def _leader_changed(self, event: Event) -> None:
        topic = self.topic
        if event.details["topic"] != self.name or topic is None:
            return
        index, former_leader_id = event.details["partition"], event.details["former_leader_id"]
        if former_leader_id != NO_LEADER:
            self._resign(index, former_leader_id)
        self._let_leader_take_over(topic, index)

    def _node_died(self, event: Event) -> None:
        assert event.node_id is not None
        topic = self.topic
        for index, placement in enumerate(topic.placements if topic is not None else ()):
            if placement.leader_id == event.node_id:
                self._resign(index, event.node_id)

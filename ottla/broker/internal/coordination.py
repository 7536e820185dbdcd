"""The coordinators of one internal topic, one on each node: it coordinates the partitions of the topic that it leads.

    a node leads a partition ──▶ `loading` reads it ──▶ its machines live on the node's coordinator
    it leads it no more      ──▶ what waits in the machines is answered, and they are gone
    a machine meets a bug    ──▶ `recovery` reads it anew
    topics change            ──▶ machines that want to know are told

What is different about each topic is a row, `CoordinatedTopic`, and how a node's coordinator is made. Whatever looks at
machines of any kind, or holds what they write or wait for, goes over the coordinations there are
(`Services.coordinations`) and needs to know no kind.

Kafka: GroupCoordinatorService and TransactionCoordinator, onElection and onResignation; BrokerMetadataPublisher.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from ottla.broker.internal.loading import Loading
from ottla.broker.internal.recovery import Recovery
from ottla.broker.internal.topic import InternalTopic
from ottla.cluster.uuids import uuid_of
from ottla.coordinator.runtime.events import TopicChange
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.internal.coordinated_topic import CoordinatedTopic
    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.runtime.log import Log
    from ottla.coordinator.runtime.runtime import Runtime
    from ottla.events.stream import Event
    from ottla.log.partition import Partition
    from ottla.purgatory import Timer


class NodeCoordinator(Protocol):
    """The coordinator of one node."""

    @property
    def runtime(self) -> Runtime[Any]:
        """What drives its machines."""

    def close(self) -> None:
        """Coordinate nothing any more."""


C = TypeVar("C", bound=NodeCoordinator)

_TOPIC_EVENTS: Final = {
    Kind.TOPIC_CREATED: TopicChange.CREATED,
    Kind.TOPIC_GROWN: TopicChange.GROWN,
    Kind.TOPIC_DELETED: TopicChange.DELETED,
}


class Coordination(Generic[C]):
    """The coordinators of one internal topic. Once it is made, `start` makes them."""

    def __init__(self, about: CoordinatedTopic, cluster: Cluster, timer: Timer, background: Background) -> None:
        self.name = about.name
        """What is coordinated, in the plural: "groups"."""
        self.of_node: dict[int, C] = {}
        """The coordinator of each node, by the node's id."""
        self._cluster = cluster
        self._loading = Loading(background, about, cluster.events)
        self._topic = InternalTopic(cluster, about.topic, self.take_over, self.resign)
        self._recovery = Recovery(
            about, self._topic, self._loading, timer, cluster.events, lambda node_id: self.of_node[node_id].runtime
        )

    def _start(self, new_coordinator: Callable[[int, Callable[[str, Exception], None]], C]) -> None:
        """Make the coordinators, and hand them the partitions that there are.

        `new_coordinator`: that of a node; it is given what a `Runtime` calls when a machine has met a bug.
        """
        for node_id in self._cluster.all_nodes:
            self.of_node[node_id] = new_coordinator(node_id, partial(self._recovery.failed, node_id))
        wanted = {change for coordinator in self.of_node.values() for change in coordinator.runtime.topic_changes}
        self._cluster.events.read(
            self._topic_changed, [kind for kind, change in _TOPIC_EVENTS.items() if change in wanted]
        )
        self._topic.take_over_all()

    @property
    def is_settled(self) -> bool:
        """Whether no machine has anything left to do at this moment."""
        return all(coordinator.runtime.is_settled for coordinator in self.of_node.values())

    def close(self) -> None:
        """Answer all requests that wait, and coordinate nothing any more."""
        for coordinator in self.of_node.values():
            coordinator.close()

    def put_around_log(self, put: Callable[[Log], Log]) -> None:
        """Have what `put` makes of the log that machines write to stand in its place from now on, such as a fault."""
        for coordinator in self.of_node.values():
            coordinator.runtime.put_around_log(put)

    def take_over(self, log: Partition, node_id: int) -> None:
        """A node leads this partition now: it reads the machines in it, and then coordinates them.

        Until then clients are told to wait. The node that coordinated them before has to resign first.
        """
        self._loading.load(self.of_node[node_id].runtime, log)

    def resign(self, partition: int, node_id: int) -> None:
        """A node does not lead this partition any more: clients that wait are told to look for the coordinator."""
        self.of_node[node_id].runtime.unload(partition)

    def on_partition_read(self, tell: Callable[[], object]) -> None:
        """Have this called each time a partition was read, or can't be."""
        self._loading.on_each.append(tell)

    def _topic_changed(self, event: Event) -> None:
        name = event.details["topic"]
        if name != self._topic.name:
            topic_id = self._topic_id(event)
            for coordinator in self.of_node.values():
                coordinator.runtime.topic_changed(_TOPIC_EVENTS[event.kind], name, topic_id)

    def _topic_id(self, event: Event) -> bytes:
        if event.kind is Kind.TOPIC_GROWN:
            return self._cluster.topics[event.details["topic"]].topic_id
        return uuid_of(event.details["topic_id"])

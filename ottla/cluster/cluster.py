"""The cluster: its nodes, its topics, and the leaders of partitions. There is one of it, shared by all nodes.

What in Kafka the controller decides and every broker learns from the metadata log is decided and known here at once.
The cluster only stores and changes. Whether a change is allowed is checked before, by `topic_creation` and the
handlers. What happens when nodes stop and start is decided in `failover`.

A change is told to the stream of events when it is complete.

Kafka: metadata/.../controller/ReplicationControlManager.java, metadata/.../image/*.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from random import Random, SystemRandom
from typing import TYPE_CHECKING

from ottla.cluster.refused import Refused
from ottla.cluster.topic import Topic
from ottla.cluster.topic_names import INTERNAL_TOPICS, unified
from ottla.cluster.uuids import random_uuid, uuid_text
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode
from ottla.settings.settings import Settings

if TYPE_CHECKING:
    from ottla.cluster.address import Address
    from ottla.cluster.node import Node
    from ottla.cluster.store import ClusterStore
    from ottla.events.stream import Stream
    from ottla.log.logs import Logs
    from ottla.log.partition import Partition


class Cluster:
    """Nodes, topics, and what they share."""

    def __init__(
        self,
        settings: Settings,
        wall_ms: Callable[[], int],
        events: Stream,
        random_source: Random | None = None,
    ) -> None:
        """`wall_ms`: the date, in milliseconds since 1970. `random_source`: gives ids; None: the system's."""
        self.settings = settings
        self.wall_ms = wall_ms
        self.events = events
        self.random_source: Random = random_source or SystemRandom()
        self.cluster_id = uuid_text(self.new_uuid())
        #: All nodes by id, up or down.
        self.all_nodes: dict[int, Node] = {}
        #: The nodes in metadata, which may lead: those that are up, and those whose failure is not detected yet.
        self.nodes: dict[int, Node] = {}
        #: The nodes of `nodes` that are down.
        self.silent_node_ids: set[int] = set()
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        #: What was set by clients for groups and for metrics subscriptions, as text, by their names.
        self.group_configs: dict[str, dict[str, str]] = {}
        self.client_metrics_configs: dict[str, dict[str, str]] = {}
        #: How many partitions the group log has: what it had at the start counts, then the setting. Kafka:
        #: GroupCoordinatorService.startup.
        self.group_partitions_count: int = settings["offsets.topic.num.partitions"]
        #: The same of the log of transactions. Kafka: TransactionStateManager.startup.
        self.transaction_partitions_count: int = settings["transaction.state.log.num.partitions"]
        #: How many partitions were ever placed: the next one goes to the next node.
        self.partitions_placed = 0
        #: The highest leader epoch of a topic that was deleted: one that is restored goes on beyond it.
        self.leader_epoch_deleted_max = -1
        #: Of topics, those included that are being made or deleted.
        self._names: set[str] = set()
        self._names_by_unified: dict[str, list[str]] = {}
        #: Topics that partitions are being added to, and those whose partitions are being deleted.
        self._growing: set[Topic] = set()
        self._shrinking: set[Topic] = set()
        #: What keeps the cluster's changes on disk; None: nothing does.
        self.store: ClusterStore | None = None
        #: The producer ids that may be handed out.
        self._producer_ids: Iterator[int] = count()

    def new_uuid(self) -> bytes:
        """An id for a topic."""
        return random_uuid(self.random_source.randbytes)

    @property
    def node_ids(self) -> list[int]:
        return sorted(self.nodes)

    @property
    def node_ids_down(self) -> list[int]:
        """Nodes that are known to be down."""
        return sorted(self.all_nodes.keys() - self.nodes.keys())

    @property
    def controller_id(self) -> int:
        """A node that is up; -1 for none. Kafka names a random one; the first serves as well."""
        return min(self.nodes, default=-1)

    @cached_property
    def logs(self) -> Logs:
        """All logs of the process; made with the first topic."""
        from ottla.log.logs import Logs

        return Logs(self.settings, self.wall_ms, self.store, self._tell_full)

    def _tell_full(self, topic: str, partition: int, limit: str, reason: str) -> None:
        self.events.tell(Kind.LOG_FULL, topic=topic, partition=partition, limit=limit, reason=reason)

    def add_node(self, node: Node) -> None:
        """A node of the cluster, up from the start."""
        self.all_nodes[node.node_id] = self.nodes[node.node_id] = node

    def addresses_on(self, listener: str) -> dict[int, Address]:
        """The nodes in metadata by id, with their addresses for clients of this listener."""
        return {node_id: node.addresses[listener] for node_id, node in self.nodes.items() if listener in node.addresses}

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def colliding_topic(self, name: str) -> str | None:
        """A topic whose name differs from this one only in dots and underscores, if there is one."""
        form = unified(name)
        names = self._names_by_unified.get(form, ()) if form is not None else ()
        return names[0] if names else None

    def create_topic(
        self,
        name: str,
        assignment: Sequence[list[int]],
        configs: Mapping[str, str],
        topic_id: bytes | None = None,
        client_id: str | None = None,
    ) -> Topic:
        """Make a topic with these replicas per partition, the first of each being its leader. Checks nothing.

        Other requests may run meanwhile. They see either nothing of the topic or all of it, and its name is taken.
        `client_id`: of the client that creates it; None: it is made on demand. Raises `Refused` if it can't be stored.
        """
        topic_id = topic_id or self.new_uuid()
        self.keep_topic(name, topic_id, configs, assignment)
        topic = self.add_topic(name, assignment, configs, topic_id)
        self.events.tell(
            Kind.TOPIC_CREATED,
            topic=name,
            topic_id=uuid_text(topic_id),
            partitions=len(assignment),
            client_id=client_id,
        )
        return topic

    def keep_topic(self, name: str, topic_id: bytes, configs: Mapping[str, str], replicas: Sequence[list[int]]) -> None:
        """Store a topic before it is made or changed, if there is a data directory. Raises `Refused` on failure."""
        if self.store is not None:
            self.store.keep_topic(name, topic_id, configs, replicas)

    def add_topic(
        self, name: str, assignment: Sequence[list[int]], configs: Mapping[str, str], topic_id: bytes
    ) -> Topic:
        """Add a topic that is stored already."""
        topic = Topic(name, topic_id, configs, self, is_internal=name in INTERNAL_TOPICS)
        self._take_name(name)
        try:
            topic.add_partitions(topic.open_partitions(assignment))
        except BaseException:
            self._give_name_back(name)
            raise
        self.partitions_placed += len(assignment)
        self.topics[name] = self.topics_by_id[topic.topic_id] = topic
        return topic

    def add_partitions(self, topic: Topic, assignment: Sequence[list[int]], client_id: str | None = None) -> None:
        """Add partitions to a topic. Checks only that the topic is unchanged when the new logs are open.

        Raises `Refused` if the change can't be stored.
        """
        first = len(topic.partitions)
        if topic in self._growing:
            raise Refused(ErrorCode.INVALID_PARTITIONS, "Partitions are being added to the topic already.")
        self._growing.add(topic)
        try:
            opened = topic.open_partitions(assignment)
        finally:
            self._growing.discard(topic)
        if self.topics_by_id.get(topic.topic_id) is not topic:
            self._let_go(topic, opened.logs)
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        replicas = [*(placement.assigned for placement in topic.placements), *assignment]
        self.keep_topic(topic.name, topic.topic_id, topic.configs, replicas)
        topic.add_partitions(opened)
        self.partitions_placed += len(assignment)
        self.events.tell(
            Kind.TOPIC_GROWN,
            topic=topic.name,
            first_partition=first,
            partitions=len(topic.partitions),
            client_id=client_id,
        )

    def delete_topic(self, topic: Topic, client_id: str | None = None) -> None:
        """Remove a topic and free its memory; operations that wait on its partitions are completed.

        Other requests may run before all its logs are gone; until then its name is taken. Raises `Refused` if the
        change can't be stored.
        """
        if self.store is not None:
            self.store.forget_topic(topic)
        del self.topics[topic.name]
        del self.topics_by_id[topic.topic_id]
        epochs = (partition.leader_epoch for partition in topic.partitions)
        self.leader_epoch_deleted_max = max(self.leader_epoch_deleted_max, *epochs)
        self._shrinking.add(topic)
        try:
            topic.delete()
        finally:
            self.logs.forget(topic.partitions)
            self._shrinking.discard(topic)
            if topic not in self._growing:
                self._give_name_back(topic.name)
        self.events.tell(
            Kind.TOPIC_DELETED,
            topic=topic.name,
            topic_id=uuid_text(topic.topic_id),
            partitions=len(topic.partitions),
            client_id=client_id,
        )

    def _let_go(self, topic: Topic, logs: Sequence[Partition]) -> None:
        """A topic was deleted while these were opened for it."""
        if self.store is not None:
            self.store.data_dir.forget(topic.name, len(topic.partitions) + len(logs))
        for log in logs:
            log.delete()
        self.logs.forget(logs)
        if topic not in self._shrinking:
            self._give_name_back(topic.name)

    def is_taken(self, name: str) -> bool:
        """Whether there is a topic of this name, or one is being made or deleted."""
        return name in self._names

    def _take_name(self, name: str) -> None:
        self._names.add(name)
        form = unified(name)
        if form is not None:
            self._names_by_unified.setdefault(form, []).append(name)

    def _give_name_back(self, name: str) -> None:
        self._names.discard(name)
        form = unified(name)
        if form is not None:
            self._names_by_unified[form].remove(name)
            if not self._names_by_unified[form]:
                del self._names_by_unified[form]

    def new_producer_id(self) -> int:
        """A producer id that was never given out. Raises `Refused` if that can't be stored."""
        producer_id = next(self._producer_ids, None)
        if producer_id is None:
            assert self.store is not None
            self._producer_ids = iter(self.store.next_producer_ids())
            producer_id = next(self._producer_ids)
        return producer_id

    def skip_producer_ids(self, end: int) -> None:
        """Give out no id below `end` any more. Only for logs in memory."""
        self._producer_ids = count(max(end, self.new_producer_id() + 1))

    def change_settings(self, layer: str, texts: Mapping[str, str]) -> None:
        """Replace a layer of settings. Raises `Refused` if that can't be stored."""
        if self.store is not None:
            self.store.keep_settings(layer, texts)
        self.settings.change(layer, texts)
        self._apply_settings()
        self.events.tell(Kind.SETTINGS_CHANGED, layer=layer)

    def use_store(self, store: ClusterStore) -> None:
        """Store all changes there from now on; the cluster must be empty."""
        self.store = store
        self.cluster_id = store.data_dir.cluster_id
        self._producer_ids = iter(())

    def _apply_settings(self) -> None:
        """Settings were changed while the broker runs."""
        self.logs.apply_settings()
        for topic in self.topics.values():
            topic.apply_configs()

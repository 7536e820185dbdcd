"""The cluster: its nodes, its topics, and who leads which partition. There is one of it, shared by all nodes.

What in Kafka the controller decides and every broker learns from the metadata log is decided and known here at once.
The cluster only keeps and changes; whether a change is allowed is for `topic_creation` and the handlers to say first,
and what becomes of it when nodes go and come is `failover`'s to decide.

Who has to know of changes adds itself to `on_topic_created`, `on_partitions_added`, `on_topic_deleted` or
`on_leader_changed`. These are called when the change is complete, and one that fails keeps nobody else from hearing.

Kafka: metadata/.../controller/ReplicationControlManager.java, metadata/.../image/*.java.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.cluster.topic import Topic
from ottla.broker.cluster.topic_names import INTERNAL_TOPICS, unified
from ottla.broker.configs.settings import Settings
from ottla.broker.refused import Refused
from ottla.broker.supervision import tell
from ottla.pacing import Pace
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.background import Background
    from ottla.broker.cluster.failover import Failover
    from ottla.broker.cluster.node import Node
    from ottla.broker.cluster.store import ClusterStore
    from ottla.broker.delayed.operations import DelayedOperations
    from ottla.broker.groups.coordination import GroupCoordination
    from ottla.broker.logs.logs import Logs
    from ottla.broker.logs.partition import Partition
    from ottla.coordinator.owner import NoteSink
    from ottla.purgatory import Clock, Timer

#: What of the cluster keeps clients waiting or has work to do, once it is needed.
_MADE_ON_DEMAND: Final = ("group_coordination", "delayed_operations", "background", "pace")


def random_uuid() -> bytes:
    """Sixteen random bytes for a topic or a cluster: a version 4 uuid that does not start with '-' as text."""
    while True:
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if uuid_text(bytes(raw))[0] != "-":
            return bytes(raw)


def uuid_text(uuid: bytes) -> str:
    """A uuid as Kafka writes it: 22 characters of url-safe base64."""
    return base64.urlsafe_b64encode(uuid)[:22].decode()


class Cluster:
    """Nodes, topics, and what they share."""

    def __init__(self, settings: Settings, clock: Clock, log: Any) -> None:
        self.settings = settings
        self.clock = clock
        self.log = log
        self.cluster_id = uuid_text(random_uuid())
        #: Set when the broker starts to run: what wakes it, and where its tasks live.
        self.timer: Timer
        self.tasks: TaskGroup
        #: Who, besides the log, is told what happens in groups. Complete before the first group is asked for.
        self.note_sinks: list[NoteSink] = []
        #: All nodes, by id, be they up or not.
        self.all_nodes: dict[int, Node] = {}
        #: Those that clients are told of, which may lead: nodes that are up, or not missed yet.
        self.nodes: dict[int, Node] = {}
        #: Those of them that are down already.
        self.silent_node_ids: set[int] = set()
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        #: What was set by clients for groups and for metrics subscriptions, as text, by their names.
        self.group_configs: dict[str, dict[str, str]] = {}
        self.client_metrics_configs: dict[str, dict[str, str]] = {}
        self.on_topic_created: list[Callable[[Topic], None]] = []
        #: Called with the topic and the number of the first new partition.
        self.on_partitions_added: list[Callable[[Topic, int], None]] = []
        self.on_topic_deleted: list[Callable[[Topic], None]] = []
        #: Called with a node that went without a word; nobody has noticed yet.
        self.on_node_died: list[Callable[[Node], None]] = []
        #: Called with the topic, the partition's number, and who led it before, -1 for nobody.
        self.on_leader_changed: list[Callable[[Topic, int, int], None]] = []
        #: Called once, when groups have been read for the first time: those that were there at the start, if any.
        self.on_groups_loaded: list[Callable[[], object]] = []
        #: How many partitions the group log has: what it had at the start counts, then the setting. Kafka:
        #: GroupCoordinatorService.startup.
        self.group_partitions_count: int = settings["offsets.topic.num.partitions"]
        #: How many partitions were ever placed: the next one goes to the next node.
        self.partitions_placed = 0
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
        settings.on_changed.append(self._apply_settings)

    @property
    def node_ids(self) -> list[int]:
        return sorted(self.nodes)

    @property
    def node_ids_down(self) -> list[int]:
        """Nodes that are known to be down."""
        return self.offline(sorted(self.all_nodes))

    @property
    def controller_id(self) -> int:
        """A node that is up; -1 for none. Kafka names a random one; the first serves as well."""
        return min(self.nodes, default=-1)

    @cached_property
    def logs(self) -> Logs:
        from ottla.broker.logs.logs import Logs

        return Logs(self.settings, self.clock, self.store)

    @cached_property
    def failover(self) -> Failover:
        """What happens when nodes go and come; made when the first does."""
        from ottla.broker.cluster.failover import Failover

        return Failover(self)

    @cached_property
    def group_coordination(self) -> GroupCoordination:
        """The group coordinators of all nodes; made when the first group is asked for."""
        from ottla.broker.groups.coordination import GroupCoordination

        return GroupCoordination(self)

    @cached_property
    def delayed_operations(self) -> DelayedOperations:
        """Who waits for a partition; made when the first has to."""
        from ottla.broker.delayed.operations import DelayedOperations

        return DelayedOperations(self, asyncio.get_running_loop().call_soon)

    @cached_property
    def background(self) -> Background:
        """Work that takes long; made with the first of it."""
        from ottla.broker.background import Background

        return Background(self)

    @cached_property
    def pace(self) -> Pace:
        """Who works off requests that take long; made by the first listener."""
        return Pace(asyncio.get_running_loop().call_soon)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do until a client asks or time passes."""
        return all(self.__dict__[name].is_settled for name in _MADE_ON_DEMAND if name in self.__dict__)

    def release_parked(self) -> None:
        """The broker is stopping: whoever waits for something is answered now."""
        tell(self.log, [self.__dict__[name].close for name in _MADE_ON_DEMAND if name in self.__dict__])

    def add_node(self, node: Node) -> None:
        """A node of the cluster, up from the start."""
        self.all_nodes[node.node_id] = self.nodes[node.node_id] = node

    def offline(self, replicas: Sequence[int]) -> list[int]:
        """Those of the replicas that are known to be down, or are not there at all."""
        nodes = self.nodes
        return [replica for replica in replicas if replica not in nodes]

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def colliding_topic(self, name: str) -> str | None:
        """A topic whose name differs from this one only in dots and underscores, if there is one."""
        form = unified(name)
        names = self._names_by_unified.get(form, ()) if form is not None else ()
        return names[0] if names else None

    def create_topic(
        self, name: str, assignment: Sequence[list[int]], configs: Mapping[str, str], topic_id: bytes | None = None
    ) -> Topic:
        """Make a topic with these replicas per partition, the first of each being its leader. Checks nothing.

        Others may have their turn while it is made. They see either nothing or all of it, and the name is taken.
        Raises `Refused` if it can't be kept.
        """
        topic_id = topic_id or random_uuid()
        if self.store is not None:
            self.store.keep_topic(name, topic_id, configs, assignment)
        return self.add_topic(name, assignment, configs, topic_id)

    def add_topic(
        self, name: str, assignment: Sequence[list[int]], configs: Mapping[str, str], topic_id: bytes
    ) -> Topic:
        """Have a topic that is kept already."""
        topic = Topic(name, topic_id, configs, self, is_internal=name in INTERNAL_TOPICS)
        self._take_name(name)
        try:
            topic.add_partitions(topic.open_partitions(assignment))
        except BaseException:
            self._give_name_back(name)
            raise
        self.partitions_placed += len(assignment)
        self.topics[name] = self.topics_by_id[topic.topic_id] = topic
        tell(self.log, self.on_topic_created, topic)
        return topic

    def add_partitions(self, topic: Topic, assignment: Sequence[list[int]]) -> None:
        """Make a topic larger. Checks nothing but that it still is what it was when the new logs are there.

        Raises `Refused` if that can't be kept.
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
        if self.store is not None:
            replicas = [*(placement.assigned for placement in topic.placements), *assignment]
            self.store.keep_topic(topic.name, topic.topic_id, topic.configs, replicas)
        topic.add_partitions(opened)
        self.partitions_placed += len(assignment)
        tell(self.log, self.on_partitions_added, topic, first)

    def delete_topic(self, topic: Topic) -> None:
        """Forget a topic and give its memory back; whoever waits on its partitions is told.

        Others may have their turn before all its logs are gone; so long its name is taken. Raises `Refused` if that
        can't be kept.
        """
        if self.store is not None:
            self.store.forget_topic(topic)
        del self.topics[topic.name]
        del self.topics_by_id[topic.topic_id]
        self._shrinking.add(topic)
        try:
            topic.delete()
        finally:
            self._shrinking.discard(topic)
            if topic not in self._growing:
                self._give_name_back(topic.name)
        tell(self.log, self.on_topic_deleted, topic)

    def _let_go(self, topic: Topic, logs: Sequence[Partition]) -> None:
        """A topic was deleted while these were opened for it."""
        if self.store is not None:
            self.store.data_dir.forget(topic.name, len(topic.partitions) + len(logs))
        for log in logs:
            log.delete()
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
        """An id no producer of this cluster has. Raises `Refused` if that can't be kept."""
        producer_id = next(self._producer_ids, None)
        if producer_id is None:
            assert self.store is not None
            self._producer_ids = iter(self.store.next_producer_ids())
            producer_id = next(self._producer_ids)
        return producer_id

    def change_settings(self, layer: str, texts: Mapping[str, str]) -> None:
        """Have a layer of settings say this from now on. Raises `Refused` if that can't be kept."""
        if self.store is not None:
            self.store.keep_settings(layer, texts)
        self.settings.change(layer, texts)

    def use_store(self, store: ClusterStore) -> None:
        """Keep all changes there from now on; the cluster has none yet."""
        self.store = store
        self.cluster_id = store.data_dir.cluster_id
        self._producer_ids = iter(())

    def _apply_settings(self) -> None:
        """Settings were changed while the broker runs."""
        self.logs.apply_settings()
        for topic in self.topics.values():
            topic.apply_configs()

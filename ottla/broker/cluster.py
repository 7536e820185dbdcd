"""The cluster: its nodes, its topics, and who leads which partition. There is one of it, shared by all nodes.

What in Kafka the controller decides and every broker learns from the metadata log is decided and known here at once.
Kafka: metadata/.../controller/ReplicationControlManager.java, metadata/.../image/*.java.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.config import Settings
from ottla.broker.topic import Topic

if TYPE_CHECKING:
    from ottla.broker.node import Node
    from ottla.purgatory import Clock

GROUP_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
#: Topics of the broker's own: marked internal in Metadata, closed to ordinary producers.
INTERNAL_TOPICS: Final = frozenset((GROUP_TOPIC, TRANSACTION_TOPIC))


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
    """Nodes and topics. `on_topics_deleted` and the like are filled in by who needs to know."""

    def __init__(self, settings: Settings, clock: Clock, log: Any) -> None:
        self.settings = settings
        self.clock = clock
        self.log = log
        self.cluster_id = uuid_text(random_uuid())
        self.nodes: dict[int, Node] = {}
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.on_topic_deleted: list[Callable[[Topic], None]] = []

    @property
    def controller_id(self) -> int:
        """A node that is up. Kafka names a random one; the first serves as well."""
        return min(self.nodes)

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def add_topic(self, name: str, assignment: Iterable[list[int]], configs: dict[str, str]) -> Topic:
        """Make a topic with these replicas per partition, the first of each being its leader. Checks nothing."""
        topic = Topic(name, random_uuid(), configs, self, is_internal=name in INTERNAL_TOPICS)
        topic.add_partitions(assignment)
        self.topics[name] = self.topics_by_id[topic.topic_id] = topic
        return topic

    def delete_topic(self, topic: Topic) -> None:
        """Forget a topic and give its memory back; whoever waits on its partitions is told."""
        del self.topics[topic.name]
        del self.topics_by_id[topic.topic_id]
        topic.close()
        for tell in self.on_topic_deleted:
            tell(topic)

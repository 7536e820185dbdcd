"""Metadata: names, ids, creation on the way, authorized operations."""

from __future__ import annotations

from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import ZERO_UUID

Topic = MetadataRequest.MetadataRequestTopic


def _by_name(*names: str, create: bool = True, operations: bool = False) -> MetadataRequest:
    return MetadataRequest(
        topics=[Topic(name=name) for name in names],
        allow_auto_topic_creation=create,
        include_topic_authorized_operations=operations,
        include_cluster_authorized_operations=operations,
    )


@script(versions=every("Metadata"))
def metadata_of_topics(scene: Scene, version: int) -> None:
    """Topics that are; one of them named twice."""
    first, second = scene.topic("first", partitions=3), scene.topic("second")
    ana = scene.actor()
    ana.ask(_by_name(first, second))
    ana.ask(_by_name(first, first))
    ana.ask(_by_name(second, operations=True))


@script(versions=every("Metadata")[1:])
def metadata_without_topics(scene: Scene, version: int) -> None:
    """An empty list asks for the brokers alone."""
    scene.actor().ask(MetadataRequest(topics=[]))
    scene.actor().ask(MetadataRequest(topics=[], include_cluster_authorized_operations=True))


@script(versions=every("Metadata"))
def metadata_of_everything(scene: Scene, version: int) -> None:
    """A null list (in v0 an empty one) asks for all topics."""
    topic = scene.topic(partitions=2)
    request = MetadataRequest(topics=[])
    request.topics = None if version else []
    scene.actor().ask_and_keep(request, lambda answer: [found for found in answer.topics if found.name == topic])


@script(versions=every("Metadata"))
def metadata_creates_topics(scene: Scene, version: int) -> None:
    """An unknown topic is created on the way: this time UNKNOWN_TOPIC_OR_PARTITION, soon after it is there."""
    name = scene.name("new")
    ana = scene.actor()
    ana.ask(_by_name(name))
    scene.until_topic_has_leaders(name, partitions=1)
    ana.ask(_by_name(name))


@script(versions=every("Metadata")[4:])
def metadata_does_not_create_topics(scene: Scene, version: int) -> None:
    """Where the client does not want it, an unknown topic stays unknown."""
    name = scene.name("new")
    ana = scene.actor()
    ana.ask(_by_name(name, create=False))
    ana.ask(_by_name(name, create=False, operations=True))


@script(versions=every("Metadata"))
def metadata_of_bad_names(scene: Scene, version: int) -> None:
    """INVALID_TOPIC_EXCEPTION; and 249 characters are allowed."""
    ana = scene.actor()
    for name in ("", ".", "..", "a b", "ä", "a" * 250, "a/b", "a\n"):
        ana.ask(_by_name(name))
    ana.ask(_by_name(scene.name("long").ljust(249, "a"), "not good") if version >= 4 else _by_name("not good"))


@script(versions=(4, 9, 12, 13), needs=("offsets.topic.num.partitions",))
def metadata_of_internal_topics(scene: Scene, version: int) -> None:
    """The offsets topic is marked internal."""
    scene.actor().ask(_by_name("__consumer_offsets"))


@script(versions=(10, 11))
def metadata_by_id_before_its_time(scene: Scene, version: int) -> None:
    """v10 and v11 can carry ids, but asking by them is INVALID_REQUEST on every topic."""
    topic = scene.topic()
    ana = scene.actor()
    nameless = Topic(topic_id=scene.topic_id(topic))
    nameless.name = None
    ana.ask(MetadataRequest(topics=[nameless]))
    ana.ask(MetadataRequest(topics=[Topic(name=topic), nameless]))
    ana.ask(MetadataRequest(topics=[Topic(name=topic, topic_id=scene.topic_id(topic))]))


@script(versions=(12, 13))
def metadata_by_id(scene: Scene, version: int) -> None:
    """Known ids, unknown ones, ids beside names, no name and no id."""
    topic, other = scene.topic(), scene.topic("other")
    known, unknown = scene.topic_id(topic), b"\7" * 16

    def by_id(*ids: bytes, name: str | None = None) -> MetadataRequest:
        return MetadataRequest(topics=[Topic(name=name, topic_id=topic_id) for topic_id in ids])

    ana = scene.actor()
    ana.ask(by_id(known))
    ana.ask(by_id(unknown))
    ana.ask(by_id(known, unknown))
    ana.ask(by_id(known, name=other))
    ana.ask(MetadataRequest(topics=[Topic(name=None, topic_id=known), Topic(name=other)]))
    ana.ask(by_id(known, known))
    ana.ask(by_id(ZERO_UUID))

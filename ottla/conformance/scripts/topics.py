"""CreateTopics, CreatePartitions, DeleteTopics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.conformance.scene import Scene
from ottla.conformance.script import every, script, some
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import ZERO_UUID

New = CreateTopicsRequest.CreatableTopic


def _new(
    name: str,
    *,
    partitions: int = 1,
    replicas: int = 1,
    configs: Mapping[str, str | None] | None = None,
    assignments: Sequence[tuple[int, list[int]]] = (),
) -> New:
    return New(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignments
        ],
    )


def _create(*topics: New, timeout_ms: int = 5_000, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)


@script(versions=every("CreateTopics"), needs=("node.id",))
def create_topics(scene: Scene, version: int) -> None:
    """Several at once, with defaults, with settings, by assignment; then again."""
    first, second, third, fourth = (scene.name(stem) for stem in ("first", "second", "third", "fourth"))
    ana = scene.actor()
    ana.ask(_create(_new(first, partitions=3), _new(second, partitions=-1, replicas=-1)))
    ana.ask(_create(_new(third, configs={"retention.ms": "1000", "cleanup.policy": "compact,delete"})))
    ana.ask(_create(_new(fourth, partitions=-1, replicas=-1, assignments=[(0, [1]), (1, [1])])))
    ana.ask(_create(_new(first), _new(second, partitions=0), _new(scene.name("fifth"))))
    ana.ask(_create())


@script(versions=every("CreateTopics"))
def create_topics_wrongly(scene: Scene, version: int) -> None:
    """Each kind of mistake by itself; good ones beside it are created."""
    ana = scene.actor()
    name = scene.name("t")
    for topic in (
        _new("bad name"),
        _new(""),
        _new("."),
        _new("a" * 250),
        _new("ä"),
        _new("__cluster_metadata"),
        _new(name, partitions=0),
        _new(name, partitions=-2),
        _new(name, replicas=0),
        _new(name, replicas=-2),
        _new(name, replicas=2),
        _new(name, partitions=0, replicas=0),
        _new(name, configs={"no.such.setting": "1"}),
        _new(name, configs={"retention.ms": "abc"}),
        _new(name, configs={"retention.ms": "-2"}),
        _new(name, configs={"retention.ms": None}),
        _new(name, configs={"segment.bytes": "1000"}),
        _new(name, configs={"cleanup.policy": "shred"}),
        _new(name, configs={"compression.type": "brotli"}),
        _new(name, configs={"message.timestamp.type": "Whenever"}),
        _new(name, configs={"min.insync.replicas": "0"}),
        _new(name, configs={"message.format.version": "2.8"}),
        _new(name, configs={"remote.storage.enable": "true"}),
        _new(name, configs={"preallocate": "perhaps"}),
        _new(name, configs={"max.message.bytes": "-1"}),
        _new(name, configs={"retention.bytes": "99999999999999999999"}),
        _new(name, configs={"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}),
        _new(name, assignments=[(0, [1])]),
        _new(name, partitions=-1, replicas=1, assignments=[(0, [1])]),
        _new(name, partitions=-1, replicas=-1, assignments=[(0, [9])]),
        _new(name, partitions=-1, replicas=-1, assignments=[(0, [1, 1])]),
        _new(name, partitions=-1, replicas=-1, assignments=[(0, [])]),
        _new(name, partitions=-1, replicas=-1, assignments=[(1, [1])]),
        _new(name, partitions=-1, replicas=-1, assignments=[(0, [1]), (2, [1])]),
        _new(name, partitions=-1, replicas=-1, assignments=[(0, [1]), (0, [1])]),
        _new(name, partitions=10_001),
    ):
        ana.ask(_create(topic))
    ana.ask(_create(_new("bad name"), _new(scene.name("good"))))
    ana.ask(_create(_new(name), _new(name), _new(scene.name("beside"))))
    ana.ask(_create(_new(scene.name("empty-policy"), configs={"cleanup.policy": ""})))


@script(versions=every("CreateTopics"))
def create_topics_with_colliding_names(scene: Scene, version: int) -> None:
    """`.` and `_` may not be all that two names differ in."""
    stem = scene.name("topic").replace("-", "x")
    scene.labels.names[stem] = "<stem>"
    ana = scene.actor()
    ana.ask(_create(_new(f"{stem}.a")))
    ana.ask(_create(_new(f"{stem}_a")))
    ana.ask(_create(_new(f"{stem}.b"), _new(f"{stem}_b")))


@script(versions=every("CreateTopics"))
def create_topics_only_to_validate(scene: Scene, version: int) -> None:
    """The answer is as if it were done; nothing is."""
    name = scene.name("topic")
    ana = scene.actor()
    ana.ask(_create(_new(name, partitions=2), _new("bad name"), validate_only=True))
    ana.ask(_create(_new(name, partitions=2), validate_only=True))
    known = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    ana.ask(known, 4)


@script(versions=every("CreateTopics"))
def create_topics_without_time(scene: Scene, version: int) -> None:
    """A timeout that is over before it begins."""
    ana = scene.actor()
    for timeout_ms in (0, -1):
        ana.ask(_create(_new(scene.name("topic")), _new("bad name"), timeout_ms=timeout_ms))


def _more(
    *counts: tuple[str, int], assignments: list[list[int]] | None = None, **changes: Any
) -> CreatePartitionsRequest:
    assigned = None if assignments is None else [
        CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments
    ]  # fmt: skip
    topics = [CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count) for name, count in counts]
    for topic in topics:
        topic.assignments = assigned
    fields: dict[str, Any] = {"topics": topics, "timeout_ms": 5_000}
    return CreatePartitionsRequest(**fields | changes)


@script(versions=every("CreatePartitions"), needs=("node.id",))
def create_partitions(scene: Scene, version: int) -> None:
    """More, never fewer; by assignment; only to validate; unknown topics; one twice."""
    topic = scene.topic(partitions=2)
    ana = scene.actor()
    ana.ask(_more((topic, 3), validate_only=True))
    ana.ask(_more((topic, 4)))
    ana.ask(_more((topic, 4)))
    ana.ask(_more((topic, 3)))
    ana.ask(_more((topic, 0)))
    ana.ask(_more((topic, -1)))
    ana.ask(_more((scene.name("absent"), 3)))
    ana.ask(_more((topic, 5), (topic, 6)))
    ana.ask(_more((topic, 5), assignments=[[1]]))
    ana.ask(_more((topic, 6), assignments=[[9]]))
    ana.ask(_more((topic, 6), assignments=[[1], [1]]))
    ana.ask(_more((topic, 6), assignments=[[1, 1]]))
    ana.ask(_more((topic, 6), assignments=[[]]))
    ana.ask(_more((topic, 6), assignments=[]))
    ana.ask(_more((topic, 6), timeout_ms=0))
    ana.ask(_more())


@script(versions=some("CreateTopics"))
def create_topics_of_too_many_partitions(scene: Scene, version: int) -> None:
    """More than 10,000 by one request, however large the sum: none of its topics is made."""
    ana = scene.actor()
    for counts in ((10_001,), (5_000, 5_001), (2**31 - 1, 2**31 - 1), (2**31 - 1, 2**31 - 1, 3), (10_001, -2)):
        ana.ask(_create(*(_new(scene.name("topic"), partitions=count) for count in counts)))


@script(versions=some("CreatePartitions"))
def create_too_many_partitions(scene: Scene, version: int) -> None:
    """More than 10,000 by one request: none of its topics grows. What would not grow anyway does not count."""
    one, two, absent = scene.topic(), scene.topic(partitions=3), scene.name("absent")
    ana = scene.actor()
    ana.ask(_more((one, 9_001), (two, 1_004)))
    ana.ask(_more((one, 9_001), (two, 1_003), validate_only=True))
    ana.ask(_more((one, 9_001), (two, 1_003), (absent, 10_000), validate_only=True))
    ana.ask(_more((one, 10_002), (absent, 1), (two, 1)))
    ana.ask(_more((one, 10_002), (two, 5), (two, 6)))
    ana.ask(_more((one, 2**31 - 1), (two, 2**31 - 1)))
    ana.ask(_more((one, 10_001), (two, -1), validate_only=True))
    ana.ask(_more((one, 10_002), assignments=[[1]]))
    ana.ask(_more((one, 10_002), timeout_ms=0))
    scene.until_settled()
    ana.ask(MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in (one, two)]), 5)


@script(versions=every("DeleteTopics"))
def delete_topics(scene: Scene, version: int) -> None:
    """One that is, one that isn't, one twice, none; and without time."""
    topic, other, third = scene.topic(), scene.topic("other"), scene.topic("third")
    ana = scene.actor()

    def ask(*names: str, timeout_ms: int = 5_000) -> None:
        ana.ask(
            DeleteTopicsRequest(
                topic_names=list(names),
                topics=[DeleteTopicsRequest.DeleteTopicState(name=name) for name in names],
                timeout_ms=timeout_ms,
            )
        )

    ask(topic, scene.name("absent"))
    ask(topic)
    ask(other, other)
    ask("bad name", "")
    ask()
    ask(third, timeout_ms=0)
    ask(third, timeout_ms=-1)


@script(versions=(6,))
def delete_topics_by_id(scene: Scene, version: int) -> None:
    """By id, by an unknown one, by name and id at once, by neither, the same topic both ways."""
    topic, other = scene.topic(), scene.topic("other")
    known = scene.topic_id(topic)
    ana = scene.actor()

    def ask(*states: tuple[str | None, bytes]) -> None:
        topics = [DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in states]
        ana.ask(DeleteTopicsRequest(topics=topics, timeout_ms=5_000))

    ask((None, b"\7" * 16))
    ask((topic, known))
    ask((None, ZERO_UUID))
    ask((topic, ZERO_UUID), (None, known))
    ask((None, known), (None, known))
    ask((None, known), (other, ZERO_UUID))
    ask((None, known))

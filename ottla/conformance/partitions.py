"""Produce and Fetch requests for scripts, for any version: they carry the topic's name and its id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.conformance.scene import Scene
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import ZERO_UUID


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as requests name it: up to some version by name, then by id."""

    name: str
    topic_id: bytes = ZERO_UUID


def new_topic(
    scene: Scene, stem: str = "topic", *, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> Topic:
    name = scene.topic(stem, partitions=partitions, configs=configs)
    return Topic(name, scene.topic_id(name))


def absent_topic(scene: Scene) -> Topic:
    return Topic(scene.name("absent"), b"\7" * 16)


def produce(
    topic: Topic, *batches: bytes | None, acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    """Each batch to the partition of its position; an empty one stands for no records, None for null."""
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=5_000,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_data=[
                    ProduceRequest.PartitionProduceData(index=index, records=records)
                    for index, records in enumerate(batches)
                ],
            )
        ],
    )


def fetch(topic: Topic, *offsets: int, **changes: Any) -> FetchRequest:
    """From each offset of the partition at its position; without waiting unless `max_wait_ms` says otherwise."""
    limits: dict[str, Any] = {
        name: changes.pop(name)
        for name in ("current_leader_epoch", "last_fetched_epoch", "partition_max_bytes")
        if name in changes
    }
    partitions = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=offset, **{"partition_max_bytes": 1 << 20} | limits)
        for index, offset in enumerate(offsets)
    ]
    fields: dict[str, Any] = {
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [FetchRequest.FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=partitions)],
    }
    return FetchRequest(**fields | changes)


def fill(scene: Scene, topic: Topic, *batches: bytes, partition: int = 0) -> None:
    """Append batches to a partition, unrecorded."""
    for data in batches:
        padding: list[bytes | None] = [None] * partition
        request = produce(topic, *padding, data)
        del request.topic_data[0].partition_data[:partition]
        answer = scene.stagehand.ask(request, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

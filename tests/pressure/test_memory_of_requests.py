"""What a large request has in memory at a time: less than all that it and its answer are made of."""

from __future__ import annotations

import weakref
from typing import Any, Final

import pytest

from ottla.broker.handlers import create_topics
from ottla.log.partition import Partition
from ottla.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.protocol.messages.produce import ProduceRequest
from tests.pressure.stage import create_topic
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

MANY: Final = 200


def test_batches_are_let_go_of_when_they_are_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the records of a request are in memory once, but for the one that is being appended."""
    sent: list[weakref.ref[memoryview]] = []
    still_there: list[int] = []
    prepare = Partition.prepare

    def counted(partition: Partition, records: memoryview, *rest: Any) -> Any:
        still_there.append(sum(earlier() is not None for earlier in sent))
        sent.append(weakref.ref(records))
        return prepare(partition, records, *rest)

    monkeypatch.setattr(Partition, "prepare", counted)
    records = batch([(None, bytes(10_000))])
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        create_topic(ana, "orders", partitions=MANY)
        partitions = [ProduceRequest.PartitionProduceData(index, records) for index in range(MANY)]
        topic = ProduceRequest.TopicProduceData("orders", partition_data=partitions)
        answer = ana.ask(ProduceRequest(None, -1, 1_000, [topic]), 8).responses[0].partition_responses
    assert [partition.error_code for partition in answer] == [0] * MANY
    assert still_there == [0] * MANY


def test_topics_alike_are_told_the_same_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has some thirty."""
    made: list[str] = []

    class Config(CreateTopicsResponse.CreatableTopicConfigs):
        __slots__ = ()

        def __init__(self, name: str, *rest: Any, **others: Any) -> None:
            made.append(name)
            super().__init__(name, *rest, **others)

    monkeypatch.setattr(create_topics, "_Shown", Config)
    topics = [CreateTopicsRequest.CreatableTopic(f"topic-{number}", 1, 1) for number in range(MANY)]
    with RunningBroker() as broker, Client(broker.bootstrap) as ana:
        created = ana.ask(CreateTopicsRequest(topics, 30_000), 7).topics
    assert len(created) == MANY
    assert all(len(topic.configs or ()) == len(made) for topic in created)
    assert len(set(made)) == len(made)

"""Real clients that produce and consume without a group: every codec, assigned partitions, seeks, what is out of range.

`OTTLA_BOOTSTRAP=host:port` has them talk to any other broker.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import confluent_kafka
import kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla.testing.broker import Broker

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_PATIENCE_SECONDS: Final = 20.0

#: (key, value, headers) as every client can send it; of several sizes, so that codecs have something to do.
MESSAGES: Final[list[tuple[bytes, bytes, list[tuple[str, Any]]]]] = [
    (b"key-%d" % number, b"value-%d " % number * (number * 20 + 1), [("trace", b"%d" % number)]) for number in range(40)
]


class Side(Protocol):
    """One client library: what a test needs of it."""

    def produce(self, bootstrap: str, topic: str, codec: str) -> None:
        """Write `MESSAGES` to partition 0, acks=all."""

    def consume(self, bootstrap: str, topic: str, offset: int, count: int) -> list[tuple[int, Any]]:
        """Read partition 0 from `offset` on: `count` messages as (offset, (key, value, headers))."""


class KafkaPython:
    """kafka-python."""

    def produce(self, bootstrap: str, topic: str, codec: str) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, linger_ms=20
        )
        sent = [
            producer.send(topic, value=value, key=key, headers=headers, partition=0) for key, value, headers in MESSAGES
        ]
        assert [future.get(_PATIENCE_SECONDS).offset for future in sent] == list(range(len(MESSAGES)))
        producer.close()

    def consume(self, bootstrap: str, topic: str, offset: int, count: int) -> list[tuple[int, Any]]:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=int(_PATIENCE_SECONDS * 1000)
        )
        partition = kafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, offset)
        messages: list[tuple[int, Any]] = []
        while len(messages) < count:
            message = next(consumer)
            messages.append((message.offset, (message.key, message.value, list(message.headers))))
        consumer.close()
        return messages


class Confluent:
    """confluent-kafka, which is librdkafka."""

    def produce(self, bootstrap: str, topic: str, codec: str) -> None:
        offsets: list[int] = []

        def delivered(error: Any, message: Any) -> None:
            assert error is None, error
            offsets.append(message.offset())

        config = {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 20,
            "enable.idempotence": True,
        }
        producer = confluent_kafka.Producer(config)
        for key, value, headers in MESSAGES:
            producer.produce(topic, value, key, partition=0, headers=headers, on_delivery=delivered)
        assert producer.flush(_PATIENCE_SECONDS) == 0
        assert offsets == list(range(len(MESSAGES)))

    def consume(self, bootstrap: str, topic: str, offset: int, count: int) -> list[tuple[int, Any]]:
        config = {"bootstrap.servers": bootstrap, "group.id": "unused", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(config)
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, offset)])
        messages: list[tuple[Any, Any]] = []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(messages) < count and time.monotonic() < deadline:
            for message in consumer.consume(count - len(messages), timeout=1):
                assert message.error() is None, message.error()
                messages.append((message.offset(), (message.key(), message.value(), message.headers())))
        consumer.close()
        return messages


class AioKafka:
    """aiokafka."""

    def produce(self, bootstrap: str, topic: str, codec: str) -> None:
        async def run() -> None:
            producer = AIOKafkaProducer(
                bootstrap_servers=bootstrap,
                compression_type=None if codec == "none" else codec,
                linger_ms=20,
                enable_idempotence=True,
            )
            async with producer:
                sent = [
                    await producer.send(topic, value, key, partition=0, headers=headers)
                    for key, value, headers in MESSAGES
                ]
                assert [(await future).offset for future in sent] == list(range(len(MESSAGES)))

        asyncio.run(run())

    def consume(self, bootstrap: str, topic: str, offset: int, count: int) -> list[tuple[int, Any]]:
        async def run() -> list[tuple[int, Any]]:
            consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
            async with consumer:
                partition = AioPartition(topic, 0)
                consumer.assign([partition])
                consumer.seek(partition, offset)
                messages: list[tuple[int, Any]] = []
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    while len(messages) < count:
                        message = await consumer.getone()
                        messages.append((message.offset, (message.key, message.value, list(message.headers))))
                return messages

        return asyncio.run(run())


SIDES: Final[Mapping[str, Side]] = {"kafka-python": KafkaPython(), "confluent": Confluent(), "aiokafka": AioKafka()}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """The broker's address."""
    given = os.environ.get("OTTLA_BOOTSTRAP")
    if given:
        yield given
    else:
        with Broker() as broker:
            yield broker.bootstrap_servers


@pytest.fixture
def topic(bootstrap: str) -> str:
    """A new topic of one partition."""
    name = f"records-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(_PATIENCE_SECONDS)
    return name


@pytest.fixture
def side(request: pytest.FixtureRequest) -> Side:
    return SIDES[request.param]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("side", SIDES, indirect=True)
def test_everyone_reads_what_one_wrote(bootstrap: str, topic: str, side: Side, codec: str) -> None:
    """Keys, values, headers and offsets arrive as they were sent, whichever client reads."""
    side.produce(bootstrap, topic, codec)
    for reader in SIDES.values():
        assert reader.consume(bootstrap, topic, 0, len(MESSAGES)) == list(enumerate(MESSAGES))


@pytest.mark.parametrize("side", SIDES, indirect=True)
def test_seek_into_the_middle_of_a_batch(bootstrap: str, topic: str, side: Side) -> None:
    """The batch comes whole, and the client drops what it did not ask for."""
    side.produce(bootstrap, topic, "none")
    assert side.consume(bootstrap, topic, 17, 5) == list(enumerate(MESSAGES))[17:22]


@pytest.mark.parametrize("side", SIDES, indirect=True)
def test_seek_beyond_the_end(bootstrap: str, topic: str, side: Side) -> None:
    """Is told out of range, and goes where auto.offset.reset says: to the beginning."""
    side.produce(bootstrap, topic, "none")
    assert side.consume(bootstrap, topic, 1_000, 3) == list(enumerate(MESSAGES))[:3]

"""The frames of real clients decode, and written again are the same bytes: kafka-python, aiokafka, librdkafka.

Each client produces, reads in a group, commits, leaves, and asks as an administrator would, against a server that
records (`recording_server`). Whether a broker behaves is the business of `tests/clients`; here only bytes count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest

from tests.protocol.recording_server import GROUP, TOPIC, RecordingServer, recording_server
from tests.support.patience import PATIENCE_SECONDS

#: What any group consumer and producer asks for.
EVERYDAY: Final = (
    "ApiVersions",
    "Fetch",
    "FindCoordinator",
    "Heartbeat",
    "JoinGroup",
    "LeaveGroup",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetFetch",
    "Produce",
    "SyncGroup",
)
TRANSACTIONAL: Final = ("AddOffsetsToTxn", "AddPartitionsToTxn", "EndTxn", "InitProducerId", "TxnOffsetCommit")


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with recording_server() as recording:
        yield recording


def assert_all_frames_decode(server: RecordingServer, client_id: str, *names: str) -> None:
    """Each request is understood to its last byte, none is written otherwise, and the APIs named were among them."""
    for request in server.requests.copy():
        message = request.decode()
        assert message.encode(request.version) == request.body, (request, message)
        assert request.client_id == client_id
    assert set(names) <= server.seen()


def test_kafka_python(server: RecordingServer) -> None:
    """Producer, transactional producer, consumer and administrator of kafka-python."""
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import NewTopic
    from kafka.structs import OffsetAndMetadata

    common = {"bootstrap_servers": server.bootstrap, "client_id": "kp"}
    producer = KafkaProducer(**common)
    producer.send(TOPIC, key=b"k", value=b"v", headers=[("h", b"x")]).get(timeout=PATIENCE_SECONDS)
    producer.close()

    consumer = KafkaConsumer(TOPIC, group_id=GROUP, heartbeat_interval_ms=20, auto_offset_reset="earliest", **common)
    assert next(consumer).value == b"v"
    server.until_seen("Heartbeat")
    consumer.commit()
    consumer.close()

    transactional = KafkaProducer(transactional_id="t", **common)
    transactional.init_transactions()
    transactional.begin_transaction()
    transactional.send(TOPIC, value=b"v").get(timeout=PATIENCE_SECONDS)
    transactional.send_offsets_to_transaction({TopicPartition(TOPIC, 0): OffsetAndMetadata(1, "", -1)}, GROUP)
    transactional.commit_transaction()
    transactional.close()

    admin = KafkaAdminClient(**common)
    admin.create_topics([NewTopic("fresh", num_partitions=2, replication_factor=1)])
    admin.close()
    assert_all_frames_decode(server, "kp", *EVERYDAY, *TRANSACTIONAL, "CreateTopics")


async def test_aiokafka(server: RecordingServer) -> None:
    """Producer, transactional producer, consumer and administrator of aiokafka."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    common = {"bootstrap_servers": server.bootstrap, "client_id": "aio"}
    async with AIOKafkaProducer(**common) as producer:
        await producer.send_and_wait(TOPIC, key=b"k", value=b"v", headers=[("h", b"x")])
    consumer = AIOKafkaConsumer(
        TOPIC,
        group_id=GROUP,
        heartbeat_interval_ms=20,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **common,
    )
    async with consumer:
        assert (await consumer.getone()).value == b"v"
        await asyncio.to_thread(server.until_seen, "Heartbeat")
        await consumer.commit()
    async with AIOKafkaProducer(transactional_id="t", **common) as transactional, transactional.transaction():
        await transactional.send_and_wait(TOPIC, value=b"v")
        await transactional.send_offsets_to_transaction({TopicPartition(TOPIC, 0): 1}, GROUP)
    admin = AIOKafkaAdminClient(**common)
    await admin.start()
    await admin.create_topics([NewTopic("fresh", 2, 1)])
    await admin.close()
    assert_all_frames_decode(server, "aio", *EVERYDAY, *TRANSACTIONAL, "CreateTopics")


def test_librdkafka(server: RecordingServer) -> None:
    """Producer, transactional producer, consumer and administrator of confluent-kafka."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    common: dict[str, str | int | float | bool] = {"bootstrap.servers": server.bootstrap, "client.id": "rd"}
    producer = Producer(common)
    producer.produce(TOPIC, key=b"k", value=b"v", headers=[("h", b"x")])
    assert producer.flush(20) == 0

    consumer = Consumer(
        {
            **common,
            "group.id": GROUP,
            "heartbeat.interval.ms": 20,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    message = consumer.poll(20)
    assert message is not None
    assert message.value() == b"v"
    server.until_seen("Heartbeat")
    consumer.commit(asynchronous=False)

    transactional = Producer({**common, "transactional.id": "t"})
    transactional.init_transactions(20)
    transactional.begin_transaction()
    transactional.produce(TOPIC, value=b"v")
    transactional.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 1)], consumer.consumer_group_metadata(), 20)
    transactional.commit_transaction(20)
    consumer.close()

    admin = AdminClient(common)
    admin.create_topics([NewTopic("fresh", num_partitions=2)])["fresh"].result(PATIENCE_SECONDS)
    assert_all_frames_decode(server, "rd", *EVERYDAY, *TRANSACTIONAL, "CreateTopics")

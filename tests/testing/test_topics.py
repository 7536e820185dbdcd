"""A topic in the hands of a test: made, filled, read, cut and deleted without a client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from ottla.testing import Broker, ChangeRefused, NoSuchTopic
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker(nodes=2) as broker:
        yield broker


def test_records_put_in_are_what_a_client_reads(kafka: Broker) -> None:
    """Key, value, headers and timestamp, and the offsets that were told."""
    orders = kafka.topic("orders").create(partitions=2)
    told = orders.produce("soup", b"\xff", None, key="table 1", partition=1, headers={"from": "ana"}, timestamp_ms=7)
    assert [(r.partition, r.offset) for r in told] == [(1, 0), (1, 1), (1, 2)]
    assert orders.records() == orders.records(1) == told
    assert orders.records(0) == []
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    got = consumer.consume(3, timeout=PATIENCE_SECONDS)
    consumer.close()
    assert [(m.key(), m.value(), m.headers(), m.timestamp()[1]) for m in got] == [
        (b"table 1", b"soup", [("from", b"ana")], 7),
        (b"table 1", b"\xff", [("from", b"ana")], 7),
        (b"table 1", None, [("from", b"ana")], 7),
    ]


def test_records_of_a_client_are_what_a_test_reads(kafka: Broker) -> None:
    """Compressed or not; waiting for them needs no sleep."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "compression.type": "lz4"})
    for number in range(7):
        producer.produce("bills", value=f'{{"sum": {number}}}', key=b"k")
    producer.flush()
    records = kafka.topic("bills").wait_for_records(7)
    assert [record.json() for record in records] == [{"sum": number} for number in range(7)]
    assert records[0].key == b"k"
    assert records[0].text == '{"sum": 0}'


def test_partitions_say_where_they_are_and_how_long(kafka: Broker) -> None:
    topic = kafka.topic("places").create(partitions=2, configs={"retention.ms": 1000})
    topic.produce("a", "b")
    assert topic.leaders.keys() == {0, 1}
    assert set(topic.leaders.values()) == {1, 2}
    first = topic.partitions[0]
    assert (first.partition, first.log_start_offset, first.high_watermark, first.leader_epoch) == (0, 0, 2, 0)
    assert first.leader_id in first.replicas == first.isr
    assert topic.look().configs == {"retention.ms": "1000"}


def test_records_taken_out_are_gone(kafka: Broker) -> None:
    """The rest stays where it is; within a batch, too."""
    topic = kafka.topic("cuts").create(partitions=2)
    topic.produce("a", "b", "c")
    topic.produce("d", partition=1)
    topic.delete_records(partition=0, before=2)
    assert [(record.offset, record.text) for record in topic.records()] == [(2, "c"), (0, "d")]
    assert len(topic.wait_for_records(2, timeout_s=0)) == 2
    topic.delete_records()
    assert topic.records() == []
    with pytest.raises(ChangeRefused, match="cuts-0 keeps its records: OFFSET_OUT_OF_RANGE"):
        topic.delete_records(partition=0, before=99)


def test_deleted_topic_is_gone(kafka: Broker) -> None:
    """Its records with it."""
    topic = kafka.topic("gone").create()
    topic.produce("a")
    topic.delete()
    assert topic.records() == []
    with pytest.raises(NoSuchTopic, match="there is no topic gone; the topics are: "):
        topic.look()
    with pytest.raises(NoSuchTopic):
        topic.delete()


def test_what_kafka_would_refuse_is_refused(kafka: Broker) -> None:
    """With Kafka's error in the text."""
    small = kafka.topic("small").create(configs={"max.message.bytes": 100})
    with pytest.raises(ChangeRefused, match="small-0 refuses the records: MESSAGE_TOO_LARGE"):
        small.produce("x" * 200)
    with pytest.raises(ChangeRefused, match="topic small is refused: TOPIC_ALREADY_EXISTS"):
        small.create()
    with pytest.raises(ChangeRefused, match="topic a/b is refused: INVALID_TOPIC_EXCEPTION"):
        kafka.topic("a/b").create()
    with pytest.raises(ChangeRefused, match="topic a/b is not there and can't be made"):
        kafka.topic("a/b").produce("x")
    with pytest.raises(NoSuchTopic, match="there is no partition 5 of small; they are 0 to 0"):
        small.produce("x", partition=5)
    with pytest.raises(ChangeRefused, match="INVALID_RECORD"):
        kafka.topic("keys").create(configs={"cleanup.policy": "compact"}).produce("no key")
    assert small.produce() == []


def test_topic_grows_and_keeps_what_it_has(kafka: Broker) -> None:
    """It never gets fewer; what is not there can't grow."""
    orders = kafka.topic("growing").create(partitions=1)
    orders.produce("soup")
    assert sorted(orders.grow(partitions=3).leaders) == [0, 1, 2]
    assert [record.text for record in orders.produce("bread", partition=2)] == ["bread"]
    assert len(orders.records()) == 2
    for partitions in (3, 2, 0):
        with pytest.raises(
            ChangeRefused, match=f"topic growing has 3 partitions, and can only get more, not {partitions}"
        ):
            orders.grow(partitions=partitions)
    with pytest.raises(NoSuchTopic):
        kafka.topic("nowhere").grow(partitions=2)

"""Transactions: of one producer that commits one after the other, and of one that reads, writes and commits offsets.

Of confluent-kafka, which goes by the protocol before KIP-890 and is often the limit itself; and of frames
(`transactor`), by either protocol. Records have 1 KB. What is read has 100 records in a batch, and each transaction
takes as many. CPU time is that of the broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.figures.records import PRODUCE, produce_request
from bench.members import create_topic, delete_topic, fresh_name, until_coordinated
from bench.transactor import Run, Shape, Transactor
from tests.support.batches import batch
from tests.support.client import Client

VALUE: Final = bytes(1000)
PARTITIONS: Final = 10
RECORDS: Final = 100
SOURCE_BATCHES: Final = 400
_CLIENT_SECONDS_MAX: Final = 10.0
_GOAL: Final = "ahead of Kafka and kfake"


def _rows(title: str) -> tuple[Row, Row]:
    """The rate, and what a transaction costs."""
    return Row(title, goal=_GOAL), Row(f"… CPU µs per transaction: {title}", smaller_is_better=True)


ONE: Final = _rows("transactions/s of 1 record, confluent-kafka")
MANY: Final = _rows("transactions/s of 100 records in 10 partitions, confluent-kafka")
LOOP: Final = _rows("consume-transform-produce messages/s, confluent-kafka")
RAW_ONE_BEFORE: Final = _rows("transactions/s of 1 record, frames before KIP-890")
RAW_ONE: Final = _rows("transactions/s of 1 record, frames of KIP-890")
RAW_MANY: Final = _rows("transactions/s of 100 records in 10 partitions, frames of KIP-890")
RAW_LOOP: Final = _rows("consume-transform-produce messages/s, frames of KIP-890")
_ALL: Final = (ONE, MANY, LOOP, RAW_ONE_BEFORE, RAW_ONE, RAW_MANY, RAW_LOOP)


def measure(broker: Broker, seconds: float) -> Values:
    if broker.is_echo:
        raise UnableError("an echo knows no transactions")
    topic, wide = fresh_name("one"), fresh_name("ten")
    create_topic(broker, topic)
    runs = {
        ONE: _commit(broker, topic, 1, 1, seconds),
        RAW_ONE_BEFORE: _commit_frames(broker, Shape(topic, 1, 1, is_bumping=False), seconds),
    }
    if broker.peer != "mock":  # it has 4 partitions of a topic, nothing of KIP-890, and keeps 5 MB
        create_topic(broker, wide, partitions=PARTITIONS)
        runs[MANY] = _commit(broker, wide, PARTITIONS, RECORDS, seconds)
        runs[RAW_ONE] = _commit_frames(broker, Shape(topic, 1, 1, is_bumping=True), seconds)
        in_each = RECORDS // PARTITIONS
        runs[RAW_MANY] = _commit_frames(broker, Shape(wide, PARTITIONS, in_each, is_bumping=True), seconds)
        source = _filled_topic(broker)
        runs[LOOP] = _pass_on(broker, source, topic, seconds)
        runs[RAW_LOOP] = _pass_on_frames(broker, source, topic)
        delete_topic(broker, source)
        delete_topic(broker, wide)
    delete_topic(broker, topic)
    return _values(runs)


def _values(runs: Mapping[tuple[Row, Row], Run]) -> Values:
    values: dict[str, float | None] = {}
    for rows, run in runs.items():
        counted = RECORDS if rows in (LOOP, RAW_LOOP) else 1
        cpu = run.broker_cpu_seconds
        values[rows[0].title] = run.transactions * counted / run.seconds
        values[rows[1].title] = None if cpu is None else cpu / run.transactions * 1e6
    return values


def _commit(broker: Broker, topic: str, partitions: int, records: int, seconds: float) -> Run:
    """Transactions of so many records in turn over the partitions."""
    producer = _producer(broker)

    def transaction() -> bool:
        for number in range(records):
            producer.produce(topic, VALUE, partition=number % partitions)
        return True

    return _commit_each(broker, producer, transaction, seconds)


def _pass_on(broker: Broker, source: str, topic: str, seconds: float) -> Run:
    """Transactions of as many messages as were read, with the reader's place in them."""
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": source, "enable.auto.commit": False}
    consumer = Consumer({**settings, "queued.min.messages": RECORDS * SOURCE_BATCHES})
    place = TopicPartition(source, 0, OFFSET_BEGINNING)
    consumer.assign([place])
    producer = _producer(broker)
    left = SOURCE_BATCHES

    def transaction() -> bool:
        nonlocal left
        messages = consumer.consume(RECORDS, timeout=_CLIENT_SECONDS_MAX)
        if len(messages) != RECORDS:
            raise UnableError("the messages did not come")
        for message in messages:
            producer.produce(topic, message.value(), partition=0)
        positions = consumer.position([place])
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), _CLIENT_SECONDS_MAX)
        left -= 1
        return left > 0

    run = _commit_each(broker, producer, transaction, seconds)
    consumer.close()
    return run


def _producer(broker: Broker) -> Producer:
    settings = {"bootstrap.servers": broker.bootstrap, "transactional.id": fresh_name("producer"), "linger.ms": 0}
    producer = Producer(settings)
    producer.init_transactions(_CLIENT_SECONDS_MAX)
    return producer


def _commit_each(broker: Broker, producer: Producer, transaction: Callable[[], bool], seconds: float) -> Run:
    """Run and commit until the time is up, or `transaction` says that it was the last one."""
    count, goes_on = 0, True
    cpu = None if broker.pid is None else broker.cpu_seconds()
    started = time.perf_counter()
    while goes_on and time.perf_counter() < started + seconds:
        producer.begin_transaction()
        goes_on = transaction()
        producer.commit_transaction(_CLIENT_SECONDS_MAX)
        count += 1
    elapsed = time.perf_counter() - started
    return Run(count, elapsed, None if cpu is None else broker.cpu_seconds() - cpu)


def _commit_frames(broker: Broker, shape: Shape, seconds: float) -> Run:
    with closing(Transactor(broker, fresh_name("producer"), VALUE)) as producer:
        return producer.run(shape, seconds=seconds)


def _pass_on_frames(broker: Broker, source: str, topic: str) -> Run:
    shape = Shape(topic, 1, RECORDS, is_bumping=True, source=source)
    with closing(Transactor(broker, fresh_name("producer"), VALUE)) as producer:
        return producer.run(shape, transactions_max=SOURCE_BATCHES)


def _filled_topic(broker: Broker) -> str:
    """A topic to read from."""
    topic = fresh_name("source")
    create_topic(broker, topic)
    data = batch([(None, VALUE)] * RECORDS, base_timestamp=int(time.time() * 1000))
    request = produce_request(topic, data)
    with Client(broker.bootstrap) as client:
        until_coordinated(client, topic)  # which is its group too
        for _ in range(SOURCE_BATCHES):
            error = client.ask(request, PRODUCE).responses[0].partition_responses[0].error_code
            if error:
                raise UnableError(f"a produce was answered with error {error}")
    return topic


FIGURE = Figure("transactions", tuple(row for rows in _ALL for row in rows), measure)

"""confluent-kafka: produces 200,000 messages of 1 KB with its defaults, then reads them from the beginning.

The reader may hold all of them: with the default limit of 64 MB it would pause for a second whenever it is ahead. Its
clock starts with the first message, when it has found the broker and its place.
"""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.members import create_topic, delete_topic, fresh_name

MESSAGES = 200_000
VALUE = bytes(1000)
READ_SECONDS_MAX = 60.0

PRODUCED = Row("confluent-kafka produce MB/s, 1 KB messages", goal="≥ 1.1 × kfake and Kafka")
CONSUMED = Row("confluent-kafka consume MB/s", goal="≥ 1.1 × kfake and Kafka")
PRODUCED_CPU = Row("… CPU µs per message produced", digits=2, smaller_is_better=True)
CONSUMED_CPU = Row("… CPU µs per message consumed", digits=2, smaller_is_better=True)


def measure(broker: Broker, seconds: float) -> Values:
    if broker.is_echo:
        raise UnableError("an echo speaks to no client")
    topic = fresh_name("client")
    create_topic(broker, topic)
    rate, cpu = _produce(broker, topic)
    values = {PRODUCED.title: rate, PRODUCED_CPU.title: cpu}
    if broker.peer != "mock":  # it keeps the last 5 MB
        rate, cpu = _consume(broker, topic)
        values |= {CONSUMED.title: rate, CONSUMED_CPU.title: cpu}
    delete_topic(broker, topic)
    return values


class Clock:
    """Time and the broker's CPU time from now on."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._cpu = None if broker.pid is None else broker.cpu_seconds()
        self._started = time.perf_counter()

    def stop(self, messages: int) -> tuple[float, float | None]:
        """MB/s and CPU microseconds per message."""
        elapsed = time.perf_counter() - self._started
        cpu = None if self._cpu is None else (self._broker.cpu_seconds() - self._cpu) / messages * 1e6
        return messages * len(VALUE) / elapsed / 1e6, cpu


def _produce(broker: Broker, topic: str) -> tuple[float, float | None]:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": 2 * MESSAGES})
    clock = Clock(broker)
    for _ in range(MESSAGES):
        producer.produce(topic, VALUE, partition=0)
    left = producer.flush(READ_SECONDS_MAX)
    if left:
        raise UnableError(f"{left} messages were not delivered")
    return clock.stop(MESSAGES)


def _consume(broker: Broker, topic: str) -> tuple[float, float | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "enable.auto.commit": False,
            "queued.min.messages": MESSAGES,
            "queued.max.messages.kbytes": MESSAGES * 2,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    deadline = time.monotonic() + READ_SECONDS_MAX
    count = len(consumer.consume(1, timeout=READ_SECONDS_MAX))
    clock = Clock(broker)
    while count < MESSAGES:
        count += len(consumer.consume(min(1_000, MESSAGES - count), timeout=1.0))  # it waits for as many as asked for
        if time.monotonic() > deadline:
            raise UnableError(f"only {count} of {MESSAGES} messages came back")
    result = clock.stop(MESSAGES)
    consumer.close()
    return result


FIGURE = Figure("client", (PRODUCED, PRODUCED_CPU, CONSUMED, CONSUMED_CPU), measure)

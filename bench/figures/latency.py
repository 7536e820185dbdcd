"""End to end: from produce() of confluent-kafka with linger 0 to the poll() that returns the message, one at a time."""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from bench.broker import Broker, UnableError
from bench.figures.figure import Figure, Row, Values
from bench.members import create_topic, delete_topic, fresh_name

MESSAGES_MAX = 2_000
WARM_UP = 50

MEDIAN = Row("end to end p50, ms", digits=2, smaller_is_better=True, goal="≤ 0.5, ahead of Kafka and kfake")
SLOWEST = Row("end to end p99, ms", digits=2, smaller_is_better=True, goal="≤ 1, ahead of Kafka and kfake")
TAIL = Row("end to end p99.9, ms", digits=2, smaller_is_better=True, goal="≤ kfake")


def measure(broker: Broker, seconds: float) -> Values:
    if broker.is_echo:
        raise UnableError("an echo speaks to no client")
    topic = fresh_name("latency")
    create_topic(broker, topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    times_ms: list[float] = []
    end = time.perf_counter() + seconds * 2
    while len(times_ms) < WARM_UP * 2 or (len(times_ms) < MESSAGES_MAX + WARM_UP and time.perf_counter() < end):
        started = time.perf_counter()
        producer.produce(topic, b"x" * 100, partition=0)
        message = consumer.poll(10.0)
        if message is None or message.error():
            raise UnableError("a message did not come back")
        times_ms.append((time.perf_counter() - started) * 1e3)
    consumer.close()
    producer.flush(5)
    delete_topic(broker, topic)
    times_ms = sorted(times_ms[WARM_UP:])
    rows = (MEDIAN, 500), (SLOWEST, 990), (TAIL, 999)
    return {row.title: times_ms[len(times_ms) * per_mille // 1000] for row, per_mille in rows}


FIGURE = Figure("latency", (MEDIAN, SLOWEST, TAIL), measure)

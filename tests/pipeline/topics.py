"""Topics for the jobs' tests: filled by a real producer, read back by a real consumer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

Header: TypeAlias = tuple[str, bytes | None]

#: 2026-03-01T23:59:59.500Z: half a second later it is another day.
LATE_MS: Final = 1_772_409_599_500
_SECONDS_MAX: Final = 20.0


@dataclass(frozen=True)
class Sent:
    """A record as a producer is given it, and as a consumer has it."""

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[Header, ...] = ()


#: Of all there is to a record, something; in two partitions and on two days.
ODD_RECORDS: Final = (
    Sent(0, b"ana", b"one", LATE_MS),
    Sent(1, None, b"no key", LATE_MS + 250),
    Sent(0, b"", b"", LATE_MS + 750),
    Sent(0, b"ana", None, LATE_MS + 751),
    Sent(1, b"\xff\x00", b"\x00\xff" * 9, LATE_MS - 5, (("a", b"1"), ("b", None), ("a", b""), ("", b"\xfe"))),
    Sent(1, b"ana", b"two", LATE_MS + 86_400_000, (("a", b"1"),)),
)


def plain_records(count: int, partitions: int, *, first: int = 0) -> list[Sent]:
    """Records that tell where they stand, a millisecond apart."""
    return [
        Sent(number % partitions, b"%d" % number, b"record %d" % number, LATE_MS + number)
        for number in range(first, first + count)
    ]


def make_topic(bootstrap: str, topic: str, partitions: int, **config: str) -> AdminClient:
    """A topic whose records stay, however old they are."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    settings = {"retention.ms": "-1", **{name.replace("_", "."): value for name, value in config.items()}}
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result()
    return admin


def send(bootstrap: str, topic: str, records: Iterable[Sent]) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "message.max.bytes": 10_000_000, "queue.buffering.max.messages": 1_000_000}
    )
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            record.partition,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
        )
    assert producer.flush(_SECONDS_MAX) == 0


def read(bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[Sent]]:
    """So many records of each partition, which must be all there are."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
    partitions = [TopicPartition(topic, index, 0) for index in range(len(counts))]
    consumer.assign(partitions)
    ends = [consumer.get_watermark_offsets(partition, _SECONDS_MAX)[1] for partition in partitions]
    assert ends == list(counts), f"{topic} ends at {ends}"
    read: list[list[Sent]] = [[] for _ in counts]
    while sum(map(len, read)) < sum(counts):
        messages = consumer.consume(sum(counts), 0.2)
        for message in messages:
            assert message.error() is None
            index = _partition(message)
            read[index].append(_sent(index, message))
    consumer.close()
    return read


def _partition(message: Any) -> int:
    return int(message.partition())


def _sent(partition: int, message: Any) -> Sent:
    return Sent(partition, message.key(), message.value(), message.timestamp()[1], tuple(message.headers() or ()))

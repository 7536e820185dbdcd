"""A topic to measure with: records of 100 bytes over four partitions."""

from __future__ import annotations

from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

RECORDS: Final = 1_000_000
PARTITIONS: Final = 4
_KEY_BYTES: Final = 8
_VALUE: Final = b"v" * (100 - _KEY_BYTES)
_FLUSH_SECONDS: Final = 0.1
_START_SECONDS_MAX: Final = 60.0


def fill(bootstrap: str, topic: str, records: int) -> None:
    """Make it and send so many records; a broker may still be starting."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.list_topics(timeout=_START_SECONDS_MAX)
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.size": 1_000_000})
    for number in range(records):
        key = b"%0*d" % (_KEY_BYTES, number)
        while True:
            try:
                producer.produce(topic, _VALUE, key, number % PARTITIONS)
                break
            except BufferError:
                producer.poll(_FLUSH_SECONDS)
    while producer.flush(_FLUSH_SECONDS):
        pass

"""The last record of a log, which says how far a mirror has come.

The last offset may have no record, but a transaction's marker, or a batch that compaction has emptied. So the search
begins further and further back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.pipeline.cluster import KafkaCluster, Partition, Span
from ottla.pipeline.refusals import CannotWork

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

#: confluent-kafka requires a group id. The consumer joins no group and commits nothing: its partitions are assigned.
_CONSUMER: Final = {
    "client.id": "ottla-pipeline",
    "group.id": "ottla-pipeline",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
}
_FURTHER: Final = 16
_POLL_SECONDS: Final = 0.1


def last_records(cluster: KafkaCluster, spans: Mapping[Partition, Span]) -> dict[Partition, Message | None]:
    """The last record of each of these pieces, or None. Raises `CannotWork` if it takes too long."""
    from confluent_kafka import Consumer

    found: dict[Partition, Message | None] = dict.fromkeys(spans)
    back = 1
    looking = {partition: span for partition, span in spans.items() if span.offsets}
    if not looking:
        return found
    consumer = Consumer({**_CONSUMER, **cluster.address.for_librdkafka()})
    try:
        while looking:
            starts = {partition: max(span.end - back, span.start) for partition, span in looking.items()}
            found |= _last_from(consumer, looking, starts, time.monotonic() + cluster.timeout_seconds)
            looking = {
                partition: span
                for partition, span in looking.items()
                if found[partition] is None and starts[partition] > span.start
            }
            back *= _FURTHER
    except TimeoutError:
        raise CannotWork(
            f"{cluster.bootstrap} doesn't give the last records of its topics within {cluster.timeout_seconds:g} s; "
            "see what is wrong there, or give it more --timeout"
        ) from None
    finally:
        consumer.close()
    return found


def _last_from(
    consumer: Consumer, spans: Mapping[Partition, Span], starts: Mapping[Partition, int], deadline_seconds: float
) -> dict[Partition, Message | None]:
    """Read from these offsets on to the pieces' ends, and keep the last record of each."""
    from confluent_kafka import KafkaError, TopicPartition

    consumer.assign([TopicPartition(*partition, offset) for partition, offset in starts.items()])
    found: dict[Partition, Message | None] = {}
    reading = set(spans)
    while reading:
        message = consumer.poll(_POLL_SECONDS)
        if time.monotonic() > deadline_seconds:
            raise TimeoutError
        if message is None:
            continue
        partition = (str(message.topic()), int(message.partition() or 0))
        error = message.error()
        if error is None and _offset(message) < spans[partition].end:
            found[partition] = message
        is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
        if is_end or (error is None and _offset(message) >= spans[partition].end - 1):
            reading.discard(partition)
    return {partition: found.get(partition) for partition in spans}


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None, "a record has an offset"
    return offset

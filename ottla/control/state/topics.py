"""A topic as it is now: where its partitions are, and the records in them, decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from ottla.cluster.uuids import uuid_text
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_reading import RecordHeaders, read_records
from ottla.protocol.records import BatchHeader, batch_spans, read_header
from ottla.text.nearest import nearest

if TYPE_CHECKING:
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Topic
    from ottla.log.partition import Partition

#: How much of a log is read at once; more if a batch is larger.
_READ_BYTES = 1024 * 1024

#: What a consumer with this `isolation.level` reads: up to the last stable offset without aborted records, or all.
Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]
COMMITTED: Final = "read_committed"


class NoSuchTopic(LookupError):
    """There is no such topic or partition; the text lists those that exist."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition of a topic."""

    partition: int
    leader_id: int
    """-1: no node leads it."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int
    high_watermark: int
    """Readers see what is before it."""


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic."""

    name: str
    topic_id: str
    configs: Mapping[str, str]
    """What was set for it."""
    partitions: tuple[PartitionView, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a topic. A null value is a tombstone."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: RecordHeaders = ()
    transaction: str | None = None
    """How the transaction it was written in stands: "open", "committed" or "aborted"; None: in none."""

    @property
    def text(self) -> str | None:
        """Its value as text, where it is UTF-8."""
        return None if self.value is None else self.value.decode()

    def json(self) -> Any:
        """What its value says in JSON."""
        return None if self.value is None else json.loads(self.value)


def find_topic(cluster: Cluster, name: str) -> Topic:
    """The topic of this name. Raises `NoSuchTopic`."""
    topic = cluster.topics.get(name)
    if topic is None:
        others = ", ".join(sorted(cluster.topics)) or "none"
        raise NoSuchTopic(f"there is no topic {name}; the topics are: {others}")
    return topic


def find_log(cluster: Cluster, name: str, partition: int) -> Partition:
    """The log of this partition. Raises `NoSuchTopic`."""
    logs = find_topic(cluster, name).partitions
    if not 0 <= partition < len(logs):
        raise NoSuchTopic(f"there is no partition {partition} of {name}; they are 0 to {len(logs) - 1}")
    return logs[partition]


def look_at_topic(cluster: Cluster, name: str) -> TopicView:
    """The topic of this name. Raises `NoSuchTopic`."""
    topic = find_topic(cluster, name)
    return TopicView(
        topic.name,
        uuid_text(topic.topic_id),
        dict(topic.configs),
        tuple(
            PartitionView(
                log.index,
                placement.leader_id,
                log.leader_epoch,
                tuple(placement.replicas),
                tuple(placement.isr),
                log.log_start_offset,
                log.high_watermark,
            )
            for log, placement in zip(topic.partitions, topic.placements, strict=True)
        ),
    )


def check_isolation(isolation: str) -> None:
    """Raises `ValueError` if there is no such isolation level."""
    if isolation not in get_args(Isolation):
        raise ValueError(f"there is no isolation {isolation}; {nearest(isolation, get_args(Isolation))}")


def records_of(
    cluster: Cluster, name: str, partition: int | None = None, isolation: Isolation = COMMITTED
) -> list[Record]:
    """The records of a topic, or of one partition, that consumers see, oldest first; markers of transactions left out.

    None of a topic that is not there. Raises `NoSuchTopic` for such a partition, `ValueError` for such an isolation.
    """
    check_isolation(isolation)
    if name not in cluster.topics:
        return []
    logs = cluster.topics[name].partitions if partition is None else [find_log(cluster, name, partition)]
    return [
        Record(name, log.index, record.offset, record.timestamp, record.key, record.value, record.headers, state)
        for log in logs
        for header, batch, state in _batches(log, isolation)
        for record in read_records(batch, header)
        if log.log_start_offset <= record.offset < log.high_watermark
    ]


def count_records(cluster: Cluster, name: str, isolation: Isolation = COMMITTED) -> int:
    """How many that would be, from the heads of the batches alone, where none begins before its log."""
    topic = cluster.topics.get(name)
    return sum(_count(log, isolation) for log in topic.partitions) if topic is not None else 0


def _count(log: Partition, isolation: Isolation) -> int:
    count = 0
    for header, _batch, _state in _batches(log, isolation):
        cut = max(0, log.log_start_offset - header.base_offset)
        count += max(0, header.records_count - cut)
    return count


def _batches(log: Partition, isolation: Isolation) -> Iterator[tuple[BatchHeader, Buffer, str | None]]:
    """What clients wrote and readers may see, and how its transaction stands."""
    is_committed = isolation == COMMITTED
    end = log.last_stable_offset if is_committed else log.high_watermark
    open_since = {entry.producer_id: entry.transaction_first_offset for entry in log.producers}
    aborted: dict[int, list[tuple[int, int]]] = {}
    for transaction in log.aborted_transactions():
        aborted.setdefault(transaction.producer_id, []).append((transaction.first_offset, transaction.last_offset))

    def state_of(header: BatchHeader) -> str | None:
        if not header.is_transactional:
            return None
        since = open_since.get(header.producer_id)
        if since is not None and header.base_offset >= since:
            return "open"
        ranges = aborted.get(header.producer_id, ())
        return "aborted" if any(first <= header.base_offset <= last for first, last in ranges) else "committed"

    offset = log.log_start_offset
    while offset < end and (data := log.read_to_end(offset, _READ_BYTES)):
        for position, size_bytes, _magic in batch_spans(data):
            batch = memoryview(data)[position : position + size_bytes]
            header = read_header(batch)
            if header.base_offset >= end:
                return
            if not header.is_control and not ((state := state_of(header)) == "aborted" and is_committed):
                yield header, batch, state
            offset = header.base_offset + header.last_offset_delta + 1

"""Partitions for tests: in memory, with few words; what a test doesn't say is at Kafka's default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ottla.log.config import LogConfig, parse_log_configs
from ottla.log.partition import Partition
from ottla.log.partition_answers import AppendResult, IsolationLevel, ReadResult
from ottla.log.producer_state import ProducerSettings, Verification
from ottla.log.storage.contract import LogStorage
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from ottla.protocol.batch_error import BatchError
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.record_validation import only_batch
from ottla.protocol.records import BatchHeader, batch_spans, read_header
from tests.support.batches import TIMESTAMP, KeyValue, batch

#: The day that batches are dated by default.
NOW_MS: Final = TIMESTAMP
HOUR_MS: Final = 3_600_000
GIB: Final = 1 << 30


def new_partition(
    configs: dict[str, str] | None = None,
    *,
    storage: LogStorage | None = None,
    log_bytes: LogBytes | None = None,
    settings: ProducerSettings | None = None,
    leader_epoch: int = 0,
) -> Partition:
    """Partition 0 of `topic`, empty unless `storage` holds something. Configs are as a client writes them."""
    return Partition(
        "topic",
        b"topic id of test",
        0,
        LogConfig.of(parse_log_configs(configs or {})),
        storage or MemoryStorage(log_bytes or LogBytes(GIB), NOW_MS),
        settings or ProducerSettings(),
        leader_epoch,
    )


def produce(
    partition: Partition,
    records: bytes | None,
    *,
    api_version: int = 11,
    wall_ms: int = NOW_MS,
    verification: Verification | None = None,
) -> AppendResult:
    """What Produce does for one partition, from the records field to the answer."""
    try:
        header, only = only_batch(records, api_version)
    except BatchError as refused:
        return AppendResult(refused.error)
    return append(partition, only, header, wall_ms, verification)


def append(
    partition: Partition,
    data: Buffer,
    header: BatchHeader,
    wall_ms: int = NOW_MS,
    verification: Verification | None = None,
) -> AppendResult:
    """Prepare a batch and append it."""
    prepared = partition.prepare(data, header, wall_ms)
    if isinstance(prepared, AppendResult):
        return prepared
    return partition.append_prepared(prepared.data, header, prepared.max_timestamp, wall_ms, verification)


def fill(partition: Partition, *batches: bytes, wall_ms: int = NOW_MS) -> None:
    """Append batches that must be taken."""
    for data in batches:
        answer = produce(partition, data, wall_ms=wall_ms)
        assert not answer.error, answer


def batch_of(count: int, **fields: Any) -> bytes:
    """A batch of `count` small records."""
    return batch([(b"k", b"v")] * count, **fields)


def sized_batch(size: int, count: int = 1, **fields: Any) -> bytes:
    """A batch of exactly `size` bytes; its last record makes up for the rest."""
    small: list[KeyValue] = [(b"k", b"v")] * (count - 1)
    guess = batch([*small, (b"k", b"v" * (size - 150))], **fields)
    data = batch([*small, (b"k", b"v" * (2 * size - 150 - len(guess)))], **fields)
    assert len(data) == size
    return data


def numbered(first_sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0, **fields: Any) -> bytes:
    """A batch of an idempotent producer."""
    return batch_of(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=first_sequence, **fields)


def base_offsets(read: ReadResult) -> list[int]:
    """Of the whole batches that were read."""
    return [read_header(read.records, span.position).base_offset for span in batch_spans(read.records)]


def records_of(read: ReadResult) -> list[Record]:
    """The records of the whole batches that were read."""
    records: list[Record] = []
    for position, size, _ in batch_spans(read.records):
        data = bytes(read.records[position : position + size])
        records += read_records(data, read_header(data))
    return records


def read_all(partition: Partition, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED) -> list[Record]:
    """Everything a reader gets by fetching from the start until nothing comes any more."""
    records: list[Record] = []
    offset = partition.log_start_offset
    while True:
        read = partition.read(offset, 1 << 20, isolation)
        assert not read.error, read
        spans = list(batch_spans(read.records))
        if not spans:
            return records
        records += [record for record in records_of(read) if record.offset >= offset]
        offset = read_header(read.records, spans[-1].position).last_offset + 1  # it may have been emptied


def offsets_of(records: Sequence[Record]) -> list[int]:
    return [record.offset for record in records]

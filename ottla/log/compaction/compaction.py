"""Compaction: of each key the last record stays, at the offset it has.

    log       [a=1 b=1][a=2 c=1][b=∅    ][active…]           ∅: a tombstone, which says that the key is gone
    latest     a→2 c→3 b→4                                    offsets, from the dirty part
    cleaned   [a=2 c=1][b=∅    ][active…]

First `LatestOffsets` reads the part that was never cleaned. Then a `CleaningPass` over the whole log up to there drops
every record whose key has a later one, every record without a key, and the records of aborted transactions. A tombstone
stays until slow readers have seen it: the first pass that finds it writes a *delete horizon* into its batch,
delete.retention.ms ahead, and the first pass after that drops it. Markers of transactions are dropped likewise, once no
record of their transaction is left.

A batch that loses all its records is dropped, with two exceptions, which stay without records: the last one of each
remembered producer, for its sequence numbers, and the last one before the high watermark, so that the log keeps its
end.

All that reads records does so in steps, for a batch may be large. Kafka: Cleaner, SkimpyOffsetMap.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.record_rewriting import ThinnedBatch, empty_batch
from ottla.protocol.records import NO_PRODUCER_ID, TIMESTAMP_MAX

if TYPE_CHECKING:
    from ottla.log.compaction.cleaned_transactions import CleanedTransactions
    from ottla.log.producer_entry import ProducerEntry
    from ottla.protocol.primitives import Buffer
    from ottla.protocol.records import BatchHeader

#: What a key costs in memory, beside its bytes: the objects and its share of the dict.
KEY_OVERHEAD_BYTES: Final = 170
#: Between two of its steps: reading or writing so many records takes about 0.1 ms.
_RECORDS_PER_STEP: Final = 32


class LatestOffsets:
    """Which offset is the last of each key, in the part of the log that is read into it.

    It is full when its keys take `bytes_max`; what comes after that is cleaned another time. A record of a compressed
    batch that is larger than `record_bytes_max` is a `BatchError`.
    """

    __slots__ = ("_bytes_held", "_bytes_max", "_offsets", "_start_offset", "end_offset", "record_bytes_max")

    def __init__(self, start_offset: int, bytes_max: int, record_bytes_max: int) -> None:
        self.record_bytes_max = record_bytes_max
        self._start_offset = start_offset
        self._bytes_max = bytes_max
        self._bytes_held = 0
        self._offsets: dict[bytes, int] = {}
        #: Up to here, this excluded, it knows every key.
        self.end_offset = start_offset

    @property
    def is_full(self) -> bool:
        return self._bytes_held >= self._bytes_max

    def read(self, batch: Buffer, header: BatchHeader) -> Iterator[None]:
        """Take in a batch of records."""
        offsets, start_offset = self._offsets, self._start_offset
        held = len(offsets)
        for number, record in enumerate(read_records(batch, header, record_bytes_max=self.record_bytes_max)):
            key = record.key
            if key is not None and record.offset >= start_offset:
                offsets[key] = record.offset
                if len(offsets) != held:
                    held += 1
                    self._bytes_held += len(key) + KEY_OVERHEAD_BYTES
            if number % _RECORDS_PER_STEP == 0:
                yield

    def keeps(self, record: Record, *, is_past_horizon: bool) -> bool:
        """Whether the record is the last of its key, and not a tombstone past its delete horizon.

        Records after the part that was read stay.
        """
        if record.offset >= self.end_offset:
            return True
        if record.key is None or (record.value is None and is_past_horizon):
            return False
        return record.offset >= self._offsets.get(record.key, -1)


class LastBatch(NamedTuple):
    """The last batch of a producer: its last offset, None if it is only a marker; and the producer's epoch."""

    last_offset: int | None
    producer_epoch: int


def last_batches(producers: Iterable[ProducerEntry]) -> dict[int, LastBatch]:
    """By producer id. Kafka: UnifiedLog.lastRecordsOfActiveProducers."""
    return {
        entry.producer_id: LastBatch(entry.batches[-1].last_offset if entry.batches else None, entry.producer_epoch)
        for entry in producers
    }


class CleanedBatch(NamedTuple):
    """A batch after cleaning."""

    data: Buffer
    max_timestamp: int


@dataclass(slots=True)
class CleaningPass:
    """One pass over a log: the latest offsets, the transactions, the horizons."""

    latest: LatestOffsets
    transactions: CleanedTransactions
    last_batches: dict[int, LastBatch]
    high_watermark: int
    wall_ms: int
    delete_retention_ms: int

    def clean(self, batch: Buffer, header: BatchHeader) -> Generator[None, None, CleanedBatch | None]:
        """The result of the generator is the batch after cleaning. None: it is dropped."""
        can_go = self.transactions.can_go(batch, header)
        horizon_ms = header.delete_horizon_ms
        is_past_horizon = horizon_ms is not None and horizon_ms <= self.wall_ms
        kept: list[Record] = []
        if not can_go or (header.is_control and not is_past_horizon):
            records = read_records(batch, header, record_bytes_max=self.latest.record_bytes_max)
            for number, record in enumerate(records):
                if header.is_control or self.latest.keeps(record, is_past_horizon=is_past_horizon):
                    kept.append(record)
                if number % _RECORDS_PER_STEP == 0:
                    yield
        if not kept:
            stays = self._is_last_of_producer(header) or header.last_offset + 1 == self.high_watermark
            return CleanedBatch(empty_batch(header), header.max_timestamp) if stays else None
        if horizon_ms is None and (can_go or any(record.value is None for record in kept)):
            horizon_ms = self._new_horizon_ms
        if horizon_ms == header.delete_horizon_ms and len(kept) == header.records_count:
            return CleanedBatch(batch, header.max_timestamp)
        thinned = ThinnedBatch(header, kept[0], horizon_ms)
        for number, record in enumerate(kept):
            thinned.add(record)
            if number % _RECORDS_PER_STEP == 0:
                yield
        return CleanedBatch(thinned.build(), thinned.max_timestamp)

    @property
    def _new_horizon_ms(self) -> int | None:
        """Beyond the last date there is none, and what waits for it stays: Kafka's sum wraps around to a date before
        1970, which MemoryRecordsBuilder.hasDeleteHorizonMs takes for none."""
        horizon_ms = self.wall_ms + self.delete_retention_ms
        return horizon_ms if horizon_ms <= TIMESTAMP_MAX else None

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        if header.producer_id == NO_PRODUCER_ID:
            return False
        last = self.last_batches.get(header.producer_id)
        if last is None:
            return False
        if last.last_offset is None:
            return header.is_control and header.producer_epoch == last.producer_epoch
        return header.last_offset == last.last_offset

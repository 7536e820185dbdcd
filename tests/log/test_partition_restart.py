"""A log that is opened again: from its batches and the little that is kept beside them comes the partition it was."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

import pytest

from ottla.log.partition import Partition
from ottla.log.partition_answers import IsolationLevel
from ottla.log.producer_entry import ProducerEntry
from ottla.log.producer_state import ProducerSettings
from ottla.log.storage.contract import EpochStart, LogState
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.errors import ErrorCode
from tests.log.partitions import (
    GIB,
    NOW_MS,
    batch_of,
    fill,
    new_partition,
    numbered,
    offsets_of,
    produce,
    read_all,
    sized_batch,
)
from tests.support.batches import batch

TRUSTING = ProducerSettings(transaction_partition_verification_enable=False)


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage(LogBytes(GIB), NOW_MS)


def restarted(partition: Partition, storage: MemoryStorage, leader_epoch: int | None = None) -> Partition:
    partition.close()
    epoch = partition.leader_epoch if leader_epoch is None else leader_epoch
    return new_partition(storage=storage, settings=TRUSTING, leader_epoch=epoch)


def test_producers_are_read_from_the_batches(storage: MemoryStorage) -> None:
    """Repeats, gaps and fenced epochs are answered as if nothing had been."""
    partition = new_partition(storage=storage)
    fill(partition, *(numbered(sequence) for sequence in range(7)), numbered(0, producer_id=8, epoch=3))
    before = list(partition.producers)
    partition = restarted(partition, storage)
    assert list(partition.producers) == before
    assert produce(partition, numbered(4)).base_offset == 4
    assert produce(partition, numbered(9)).error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(partition, numbered(0, producer_id=8, epoch=2)).error == ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce(partition, numbered(7)).base_offset == 8


def test_transactions_are_read_from_the_batches(storage: MemoryStorage) -> None:
    """The open one still holds committed readers back, the aborted one is still named, once."""
    partition = new_partition(storage=storage, settings=TRUSTING)
    fill(partition, numbered(0, producer_id=1, attributes=0x10))
    partition.append_marker(TransactionMarker(False, 4), 1, 0, 1, NOW_MS)
    fill(partition, numbered(0, producer_id=2, attributes=0x10), batch_of(1))
    before = (partition.read(0, 1000, IsolationLevel.READ_COMMITTED).aborted, list(partition.producers))
    for _ in range(2):
        partition = restarted(partition, storage)
        read = partition.read(0, 1000, IsolationLevel.READ_COMMITTED)
        assert (read.aborted, list(partition.producers)) == before
        assert (partition.high_watermark, partition.last_stable_offset) == (4, 2)
    partition.append_marker(TransactionMarker(True, 4), 2, 0, 1, NOW_MS)
    assert partition.last_stable_offset == 5
    assert partition.read(0, 1000, IsolationLevel.READ_COMMITTED).aborted == before[0]


def test_the_start_and_the_epochs_are_kept(storage: MemoryStorage) -> None:
    """What DeleteRecords removed stays removed; who wrote what is still told."""
    partition = new_partition(storage=storage, leader_epoch=1)
    fill(partition, batch_of(4))
    partition.lead(2)
    fill(partition, batch_of(4))
    partition.delete_records(2)
    partition = restarted(partition, storage, leader_epoch=3)
    assert (partition.log_start_offset, partition.log_end_offset, partition.leader_epoch) == (2, 8, 3)
    assert offsets_of(read_all(partition))[:2] == [2, 3]
    assert [partition.offset_for_leader_epoch(epoch) for epoch in (1, 2, 3)] == [(1, 4), (2, 8), (3, 8)]


def test_epochs_come_from_the_batches_if_they_were_not_kept(storage: MemoryStorage) -> None:
    """Each batch says under which leader it was written."""
    partition = new_partition(storage=storage, leader_epoch=1)
    fill(partition, batch_of(4))
    partition.lead(5)
    fill(partition, batch_of(4))
    storage.save_state(LogState(0, ()))
    partition = new_partition(storage=storage, leader_epoch=6)
    assert [partition.offset_for_leader_epoch(epoch) for epoch in (1, 5)] == [(1, 4), (5, 8)]


def test_epochs_beyond_the_end_are_forgotten(storage: MemoryStorage) -> None:
    """They belong to records that were lost."""
    fill(new_partition(storage=storage, leader_epoch=1), batch_of(4))
    storage.save_state(LogState(0, (EpochStart(1, 0), EpochStart(2, 9))))
    partition = new_partition(storage=storage, leader_epoch=1)
    assert [partition.offset_for_leader_epoch(epoch) for epoch in (0, 1, 2)] == [(0, 0), (1, 4), (-1, -1)]


def test_a_marker_that_compaction_has_emptied(storage: MemoryStorage) -> None:
    """Its transaction is long over; it says nothing about the producer any more."""
    fill(new_partition(storage=storage), numbered(0, 2))
    emptied = batch(
        payload=b"", count=0, last_offset_delta=0, base_offset=2, attributes=0x30, producer_id=7, producer_epoch=0
    )
    storage.append(emptied, 2, NOW_MS, NOW_MS)
    partition = new_partition(storage=storage)
    assert partition.log_end_offset == 3
    assert produce(partition, numbered(2)).base_offset == 3


def test_a_log_that_lost_more_than_its_tail(storage: MemoryStorage) -> None:
    """Where it started is beyond where it ends now: it goes on there, empty."""
    partition = new_partition({"internal.segment.bytes": "1000"}, storage=storage)
    fill(partition, *[sized_batch(600)] * 3)
    storage.save_state(LogState(10, (EpochStart(0, 0),)))
    partition = new_partition(storage=storage)
    assert (partition.log_start_offset, partition.log_end_offset, partition.size_bytes) == (10, 10, 0)
    fill(partition, batch_of(1))
    assert offsets_of(read_all(partition)) == [10]


class Snapshots(MemoryStorage):
    """A storage that keeps its producers as a disk would: by value, at each roll and when it is closed."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        super().__init__(LogBytes(GIB), NOW_MS)
        self.kept: list[tuple[int, list[ProducerEntry]]] = []

    def save_producers(self, offset: int, producers: Iterable[ProducerEntry]) -> None:
        self.kept.append((offset, copy.deepcopy(list(producers))))

    def load_producers(self) -> tuple[int, Sequence[ProducerEntry]] | None:
        return copy.deepcopy(self.kept[-1]) if self.kept else None


def test_a_snapshot_shortens_the_way() -> None:
    """Producers come from the latest snapshot and the batches after it, and are the same as from all batches."""
    storage = Snapshots()
    partition = new_partition({"internal.segment.bytes": "300"}, storage=storage, settings=TRUSTING)
    fill(partition, numbered(0, producer_id=1, attributes=0x10), *(numbered(sequence) for sequence in range(9)))
    partition.append_marker(TransactionMarker(False, 0), 1, 0, 1, NOW_MS)
    fill(partition, numbered(9), numbered(1, producer_id=1, attributes=0x10))
    assert 0 < storage.kept[-1][0] < partition.log_end_offset
    read = partition.read(0, 1000, IsolationLevel.READ_COMMITTED)
    before = (list(partition.producers), partition.last_stable_offset, read.aborted)

    reopened = new_partition(storage=storage, settings=TRUSTING)

    read = reopened.read(0, 1000, IsolationLevel.READ_COMMITTED)
    assert (list(reopened.producers), reopened.last_stable_offset, read.aborted) == before


def test_closing_twice_or_after_the_end_does_nothing(storage: MemoryStorage) -> None:
    """And a closed partition answers like one that is gone."""
    partition = new_partition(storage=storage)
    fill(partition, batch_of(1))
    partition.close()
    partition.close()
    assert produce(partition, batch_of(1)).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert new_partition(storage=storage).log_end_offset == 1

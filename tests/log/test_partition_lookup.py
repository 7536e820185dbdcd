"""Finding an offset by its time or by its leader epoch: ListOffsets and OffsetForLeaderEpoch on one partition."""

from __future__ import annotations

import gzip

import pytest

from ottla.log.partition import Partition
from ottla.log.partition_answers import IsolationLevel, OffsetResult
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record
from tests.log.partitions import NOW_MS, batch_of, fill, new_partition
from tests.support.batches import batch, record

UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED
LATEST, EARLIEST, MAX, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
NOTHING = OffsetResult(ErrorCode.NONE)


def find(partition: Partition, timestamp: int) -> tuple[int, int, int]:
    """(timestamp, offset, leader epoch) of what a consumer finds; -1s where it finds nothing."""
    result = partition.offset_for_timestamp(timestamp, UNCOMMITTED)
    assert result.error == ErrorCode.NONE
    return result.timestamp, result.offset, result.leader_epoch


def dated(*timestamps: int) -> bytes:
    return batch([(b"k", b"v")] * len(timestamps), timestamps=timestamps, base_timestamp=timestamps[0])


@pytest.mark.parametrize("timestamp", [0, NOW_MS, MAX, LATEST_TIERED, EARLIEST_PENDING])
def test_an_empty_log_has_no_times(timestamp: int) -> None:
    """No error: -1 for offset, time and epoch."""
    assert new_partition().offset_for_timestamp(timestamp, UNCOMMITTED) == NOTHING


def test_the_ends_of_the_log() -> None:
    """Latest is told with the leader's epoch, earliest with the epoch that wrote it, both without a time."""
    partition = new_partition(leader_epoch=2)
    assert find(partition, LATEST) == (-1, 0, 2)
    assert find(partition, EARLIEST) == find(partition, EARLIEST_LOCAL) == (-1, 0, 2)
    fill(partition, batch_of(5))
    partition.lead(4)
    fill(partition, batch_of(5))
    assert find(partition, LATEST) == (-1, 10, 4)
    assert find(partition, EARLIEST) == (-1, 0, 2)
    partition.delete_records(7)
    assert find(partition, EARLIEST) == find(partition, EARLIEST_LOCAL) == (-1, 7, 4)
    assert partition.offset_for_timestamp(LATEST, None).offset == 10


def test_the_first_record_that_is_not_older() -> None:
    """Records may be out of order: the first in the log counts, not the next in time."""
    partition = new_partition()
    fill(partition, dated(100, 140, 120), dated(110), dated(160, 150))
    for timestamp, found in (
        (0, (100, 0, 0)),
        (100, (100, 0, 0)),
        (101, (140, 1, 0)),
        (140, (140, 1, 0)),
        (141, (160, 4, 0)),
        (160, (160, 4, 0)),
        (161, (-1, -1, -1)),
    ):
        assert find(partition, timestamp) == found, timestamp


def test_compressed_batches_are_opened() -> None:
    """The record inside is told, not the batch."""
    partition = new_partition()
    payload = b"".join(record(b"k", b"v", offset_delta=index, timestamp_delta=index * 10) for index in range(5))
    packed = batch(payload=gzip.compress(payload), attributes=1, count=5, last_offset_delta=4, base_timestamp=1000)
    fill(partition, dated(900), packed)
    assert find(partition, 1015) == (1020, 3, 0)
    assert find(partition, MAX) == (1040, 5, 0)


def test_log_append_time_dates_all_records_of_a_batch() -> None:
    """So the batch's first record is the first that is not older."""
    partition = new_partition({"message.timestamp.type": "LogAppendTime"})
    fill(partition, batch_of(3), wall_ms=NOW_MS)
    fill(partition, batch_of(3), wall_ms=NOW_MS + 10)
    assert find(partition, NOW_MS + 1) == (NOW_MS + 10, 3, 0)
    assert find(partition, MAX) == (NOW_MS + 10, 3, 0)


def test_what_is_above_the_limit_of_a_record_is_not_looked_into() -> None:
    """A max.decompressed.message.bytes that was lowered later: a look into compressed records is refused."""
    partition = new_partition()
    records = [Record(0, 100, b"k", b"value"), Record(1, 200, b"k", b"value")]
    fill(partition, build_batch_of(records, base_offset=0, compression=CompressionType.GZIP))
    assert find(partition, 150) == (200, 1, 0)
    partition.config = new_partition({"max.decompressed.message.bytes": "10"}).config
    for timestamp in (150, MAX):
        assert partition.offset_for_timestamp(timestamp, UNCOMMITTED).error == ErrorCode.INVALID_RECORD


def test_the_largest_timestamp_is_that_of_a_record() -> None:
    """The first of those that have it, with its own offset, not the end of its batch."""
    partition = new_partition({"internal.segment.bytes": "200"})
    fill(partition, dated(100, 300, 200), dated(250), dated(300), dated(10, 20, 30))
    assert find(partition, MAX) == (300, 1, 0)
    fill(partition, dated(5, 301))
    assert find(partition, MAX) == (301, 9, 0)


def test_records_without_a_timestamp() -> None:
    """Measured: no time finds them, but the largest timestamp is -1 and the first record has it."""
    partition = new_partition()
    fill(partition, dated(-1), dated(-1))
    assert find(partition, MAX) == (-1, 0, 0)
    assert find(partition, 0) == (-1, -1, -1)


def test_what_lies_before_the_logs_start() -> None:
    """Measured: a time is looked for in the first segment that reaches it, so what was deleted there hides what comes
    later; and the largest timestamp may be one that was deleted."""
    partition = new_partition()
    fill(partition, dated(1000), dated(6000), dated(2000), dated(3000))
    partition.delete_records(2)
    assert find(partition, 500) == (2000, 2, 0)
    assert find(partition, 2500) == (3000, 3, 0)
    assert find(partition, 5000) == (-1, -1, -1)
    assert find(partition, MAX) == (6000, 1, 0)


def test_the_start_may_lie_within_a_batch() -> None:
    """Its earlier records are not found any more."""
    partition = new_partition()
    fill(partition, dated(100, 200, 300))
    partition.delete_records(2)
    assert find(partition, 50) == (300, 2, 0)


def test_segments_are_passed_over_by_their_largest_timestamp() -> None:
    """Each batch is in a segment of its own; the answer is the same as in one."""
    partition = new_partition({"internal.segment.bytes": "100"})
    fill(partition, *(dated(timestamp) for timestamp in (50, 10, 70, 60, 90)))
    assert [find(partition, timestamp)[1] for timestamp in (1, 51, 71, 91)] == [0, 2, 4, -1]


class TestLeaderEpochs:
    """Where an epoch ended: what consumers ask after the leader changed."""

    def test_one_epoch(self) -> None:
        """The current epoch ends at the log's end, even while nothing was written; others can't be told."""
        partition = new_partition()
        assert partition.offset_for_leader_epoch(0) == (0, 0)
        fill(partition, batch_of(3))
        assert partition.offset_for_leader_epoch(0) == (0, 3)
        assert partition.offset_for_leader_epoch(5) == (-1, -1)
        assert partition.offset_for_leader_epoch(-1) == (-1, -1)

    def test_several_epochs(self) -> None:
        """An epoch that never was here is answered for the one before; one that wrote nothing has left no trace."""
        partition = new_partition(leader_epoch=2)
        fill(partition, batch_of(3))
        partition.lead(4)
        partition.lead(5)
        fill(partition, batch_of(3))
        partition.lead(9)
        for epoch, answer in (
            (0, (0, 0)),
            (1, (1, 0)),
            (2, (2, 3)),
            (3, (2, 3)),
            (4, (2, 3)),
            (5, (5, 6)),
            (8, (5, 6)),
            (9, (9, 6)),
            (10, (-1, -1)),
        ):
            assert partition.offset_for_leader_epoch(epoch) == answer, epoch

    def test_epochs_go_with_their_records(self) -> None:
        """What was deleted is answered for by where the log starts now."""
        partition = new_partition(leader_epoch=1)
        fill(partition, batch_of(3))
        partition.lead(2)
        fill(partition, batch_of(3))
        partition.delete_records(4)
        assert partition.offset_for_leader_epoch(1) == (1, 4)
        assert partition.offset_for_leader_epoch(2) == (2, 6)

    def test_a_lower_epoch_is_news_of_yesterday(self) -> None:
        """It changes nothing."""
        partition = new_partition(leader_epoch=3)
        partition.lead(2)
        assert partition.leader_epoch == 3
        assert partition.offset_for_leader_epoch(2) == (2, 0)

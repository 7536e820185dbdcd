"""Reading a partition: from which batch on, how much of it, and when a waiting fetch has waited long enough."""

from __future__ import annotations

import pytest

from ottla.log.partition import Partition
from ottla.log.partition_answers import IsolationLevel, ReadResult
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from ottla.protocol.errors import ErrorCode
from tests.log.partitions import GIB, NOW_MS, base_offsets, batch_of, fill, new_partition, produce, sized_batch
from tests.support.batches import batch

UNCOMMITTED, COMMITTED = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED


@pytest.fixture
def partition() -> Partition:
    """Batches at 0–1, 2–4 and 5, of 400 bytes each: the log starts at 1 and ends at 6."""
    partition = new_partition()
    fill(partition, sized_batch(400, 2), sized_batch(400, 3), sized_batch(400))
    assert len(partition.read(0, 10_000).records) == 1200
    partition.delete_records(1)
    return partition


def waiting_bytes(
    partition: Partition, read: ReadResult, offset: int, isolation: IsolationLevel = UNCOMMITTED
) -> object:
    """What a fetch that got `read` and went to wait could have by now."""
    return partition.bytes_after(read.segment_base_offset, read.position, offset, isolation)


class TestWhereAReadBegins:
    """Offsets between the log's start and its end, and those outside."""

    @pytest.mark.parametrize("offset", [-1, 0, 7, 1 << 62])
    def test_outside_the_log(self, partition: Partition, offset: int) -> None:
        """OFFSET_OUT_OF_RANGE at once; none of the log's offsets are told."""
        read = partition.read(offset, 1000)
        assert read == ReadResult(ErrorCode.OFFSET_OUT_OF_RANGE)
        assert (read.high_watermark, read.last_stable_offset, read.log_start_offset) == (-1, -1, -1)

    def test_at_the_end(self, partition: Partition) -> None:
        """Nothing yet, and no error: a consumer waits here."""
        read = partition.read(6, 1000)
        assert (read.error, len(read.records)) == (ErrorCode.NONE, 0)
        assert (read.high_watermark, read.last_stable_offset, read.log_start_offset) == (6, 6, 1)

    @pytest.mark.parametrize(("offset", "first"), [(1, 0), (2, 2), (3, 2), (4, 2), (5, 5)])
    def test_inside(self, partition: Partition, offset: int, first: int) -> None:
        """The batch that holds the offset comes whole, even what of it lies before the offset or the log's start."""
        read = partition.read(offset, 10_000)
        assert base_offsets(read) == [base for base in (0, 2, 5) if base >= first]
        assert read.aborted is None

    def test_an_empty_log(self) -> None:
        """Offset 0 is its end."""
        partition = new_partition()
        assert partition.read(0, 1000) == ReadResult(ErrorCode.NONE, b"", 0, 0, 0, 0, segment_base_offset=0, position=0)
        assert partition.read(1, 1000).error == ErrorCode.OFFSET_OUT_OF_RANGE


class TestCompactedLogs:
    """Offsets are missing: within a segment, at its end, at the beginning of the next."""

    @pytest.fixture
    def partition(self) -> Partition:
        """Batches at 0–1 and 5 in a segment from 0, and 12–13 in one from 10."""
        storage = MemoryStorage(LogBytes(GIB), NOW_MS)
        for base_offset, count in ((0, 2), (5, 1), (12, 2)):
            if base_offset == 12:
                storage.roll(10, NOW_MS)
            storage.append(batch_of(count, base_offset=base_offset), base_offset + count - 1, NOW_MS, NOW_MS)
        return new_partition(storage=storage)

    def test_a_gap_leads_to_the_next_batch(self, partition: Partition) -> None:
        """Even into the next segment."""
        found = {offset: base_offsets(partition.read(offset, 1000)) for offset in (1, 2, 4, 5, 6, 9, 10, 11, 13)}
        assert found == {
            1: [0, 5],
            2: [5],
            4: [5],
            5: [5],
            6: [12],
            9: [12],
            10: [12],
            11: [12],
            13: [12],
        }

    def test_a_wait_counts_from_where_the_read_was(self, partition: Partition) -> None:
        """The position told is that of the batch that was found."""
        read = partition.read(7, 10, is_first=False)
        assert (read.records, read.segment_base_offset, read.position) == (b"", 10, 0)
        assert waiting_bytes(partition, read, 7) == len(batch_of(2))


class TestHowMuchIsRead:
    """The first batch is sent whole or not at all; after it the limit counts to the byte."""

    @pytest.mark.parametrize(
        ("bytes_max", "size"), [(0, 400), (1, 400), (399, 400), (400, 400), (401, 401), (799, 799), (5000, 1200)]
    )
    def test_first_with_data(self, partition: Partition, bytes_max: int, size: int) -> None:
        """At least one batch; the last may come cut off, as clients expect of Kafka."""
        assert len(partition.read(1, bytes_max).records) == size

    @pytest.mark.parametrize(("bytes_max", "size"), [(0, 0), (399, 0), (400, 400), (401, 401)])
    def test_after_another_partition(self, partition: Partition, bytes_max: int, size: int) -> None:
        """Then a first batch that doesn't fit waits for the next fetch."""
        read = partition.read(1, bytes_max, is_first=False)
        assert (read.error, len(read.records)) == (ErrorCode.NONE, size)

    def test_a_batch_cut_off_at_100_bytes(self) -> None:
        """Measured: partition_max_bytes 100 over batches of 70 bytes gives 100 bytes, the second batch cut."""
        partition = new_partition()
        fill(partition, batch(), batch())
        assert len(partition.read(0, 1).records) == 70
        read = partition.read(0, 100)
        assert (len(read.records), base_offsets(read)) == (100, [0])

    def test_a_negative_limit(self, partition: Partition) -> None:
        """Kafka fails on it without a code where there is something to read, and doesn't notice elsewhere."""
        assert partition.read(1, -1) == ReadResult(ErrorCode.UNKNOWN_SERVER_ERROR)
        assert partition.read(6, -1).error == ErrorCode.NONE

    def test_one_segment_at_a_time(self) -> None:
        """A read ends where its segment ends, however much was asked for."""
        partition = new_partition({"internal.segment.bytes": "1000"})
        fill(partition, *[sized_batch(400)] * 5)
        assert [base_offsets(partition.read(offset, 10_000)) for offset in range(5)] == [[0, 1], [1], [2, 3], [3], [4]]

    def test_what_was_handed_out_stays_as_it_was(self, partition: Partition) -> None:
        """Fetches on their way to a slow client don't see later appends, retention or the topic's deletion."""
        read = partition.read(1, 10_000)
        before = bytes(read.records)
        fill(partition, *[sized_batch(1000)] * 50)
        partition.delete()
        assert bytes(read.records) == before


class TestWaiting:
    """A fetch that found too little waits, and asks now and then how much there is by now."""

    def test_bytes_count_from_where_it_stands(self, partition: Partition) -> None:
        """At the end nothing; then what was appended."""
        read = partition.read(6, 1000)
        assert waiting_bytes(partition, read, 6) == 0
        fill(partition, sized_batch(300))
        assert waiting_bytes(partition, read, 6) == 300
        fill(partition, sized_batch(350))
        assert waiting_bytes(partition, read, 6) == 650

    def test_bytes_it_did_not_take_count_too(self, partition: Partition) -> None:
        """With min_bytes above what is there, a fetch waits in the middle of the log."""
        read = partition.read(2, 10_000)
        assert waiting_bytes(partition, read, 2) == 800

    def test_a_new_segment_ends_the_wait(self) -> None:
        """Reads don't cross segments, so waiting for more bytes would be in vain."""
        partition = new_partition({"internal.segment.bytes": "1000"})
        fill(partition, sized_batch(400), sized_batch(400))
        read = partition.read(2, 1000)
        fill(partition, sized_batch(400))
        assert waiting_bytes(partition, read, 2) is None

    def test_an_offset_readers_may_not_pass_ends_the_wait(self) -> None:
        """A reader of committed records beyond the last stable offset is answered at once, with nothing."""
        partition = new_partition()
        entry = partition.producers.start_verification(7, 0, 0, False, NOW_MS)
        opened = batch_of(2, producer_id=7, producer_epoch=0, base_sequence=0, attributes=0x10)
        assert not produce(partition, opened, verification=entry).error  # type: ignore[arg-type]
        read = partition.read(2, 1000, COMMITTED)
        assert (read.error, len(read.records)) == (ErrorCode.NONE, 0)
        assert waiting_bytes(partition, read, 2, COMMITTED) is None
        assert waiting_bytes(partition, read, 2, UNCOMMITTED) == 0


class TestLeaderEpochs:
    """What a reader knows of the leader, and of the log it has read so far."""

    @pytest.mark.parametrize(
        ("current", "error"),
        [
            (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
            (4, ErrorCode.NONE),
            (3, ErrorCode.FENCED_LEADER_EPOCH),
            (-1, ErrorCode.NONE),
            (-2, ErrorCode.FENCED_LEADER_EPOCH),
        ],
    )
    def test_the_current_epoch(self, current: int, error: ErrorCode) -> None:
        """A reader with older or newer metadata than ours; -1 is no claim, and what is below it is older than all."""
        assert new_partition(leader_epoch=4).check_leader_epoch(current) == error

    def test_a_log_that_went_its_own_way(self) -> None:
        """A reader that has records of an epoch beyond where that epoch ended is told where to cut its log."""
        partition = new_partition(leader_epoch=1)
        fill(partition, batch_of(5))
        partition.lead(3)
        fill(partition, batch_of(2))

        agreed = partition.read(5, 1000, last_fetched_epoch=1)
        assert (agreed.diverging_epoch, base_offsets(agreed)) == (None, [5])
        for offset, epoch, diverging in ((6, 1, (1, 5)), (5, 2, (1, 5)), (7, 2, (1, 5)), (9, 3, (3, 7))):
            read = partition.read(offset, 1000, last_fetched_epoch=epoch)
            assert (read.error, read.diverging_epoch, len(read.records)) == (ErrorCode.NONE, diverging, 0)
            assert (read.high_watermark, read.log_end_offset) == (7, 7)
        assert partition.read(5, 1000, last_fetched_epoch=4).error == ErrorCode.OFFSET_OUT_OF_RANGE

    def test_a_position_before_the_logs_start_comes_first(self) -> None:
        """OFFSET_OUT_OF_RANGE, diverging or not."""
        partition = new_partition(leader_epoch=1)
        fill(partition, batch_of(5))
        partition.lead(3)
        partition.delete_records(5)
        assert partition.read(3, 1000, last_fetched_epoch=2).error == ErrorCode.OFFSET_OUT_OF_RANGE

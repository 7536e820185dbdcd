"""Removing old records: by request, by retention, with the topic; and the one account of bytes they are given back
to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.partition import Partition
from ottla.log.partition_answers import PartitionEvent
from ottla.log.storage.log_bytes import LogBytes
from ottla.protocol.errors import ErrorCode
from tests.log.partitions import (
    HOUR_MS,
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

SEGMENT = {"internal.segment.bytes": "1000"}


class TestDeleteRecords:
    """The client says where the log is to start."""

    def test_step_by_step(self) -> None:
        """To 5; back to 3 changes nothing; beyond the high watermark or below -1 is out of range; -1 is all there
        is."""
        partition = new_partition()
        fill(partition, batch_of(4), batch_of(6))
        assert partition.delete_records(5) == (ErrorCode.NONE, 5)
        assert partition.delete_records(3) == (ErrorCode.NONE, 5)
        assert partition.delete_records(999) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
        assert partition.delete_records(-2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
        assert (partition.log_start_offset, partition.read(4, 1000).error) == (5, ErrorCode.OFFSET_OUT_OF_RANGE)
        assert partition.delete_records(-1) == (ErrorCode.NONE, 10)
        assert (partition.log_start_offset, partition.log_end_offset) == (10, 10)
        fill(partition, batch_of(1))
        assert offsets_of(read_all(partition)) == [10]

    @pytest.mark.parametrize(
        ("policy", "error"),
        [
            ("compact", ErrorCode.POLICY_VIOLATION),
            ("compact,delete", ErrorCode.NONE),
            ("delete", ErrorCode.NONE),
            ("", ErrorCode.NONE),
        ],
    )
    def test_compacted_topics_keep_their_records(self, policy: str, error: ErrorCode) -> None:
        """Unless they may delete as well."""
        partition = new_partition({"cleanup.policy": policy})
        fill(partition, batch_of(4))
        assert partition.delete_records(2) == (error, -1 if error else 2)

    def test_bytes_come_back_with_retention(self) -> None:
        """Whole segments, and those alone that lie before the log's start; whatever the policy is."""
        log_bytes = LogBytes(10_000)
        partition = new_partition(SEGMENT | {"cleanup.policy": ""}, log_bytes=log_bytes)
        fill(partition, *[sized_batch(400)] * 5)
        for start, size in ((1, 2000), (2, 1200), (3, 1200), (5, 400)):
            partition.delete_records(start)
            partition.apply_retention(NOW_MS)
            assert (partition.size_bytes, log_bytes.bytes_held) == (size, size), start
            assert offsets_of(read_all(partition)) == list(range(start, 5))


class TestRetention:
    """What goes by itself. Segments of two batches of 400 bytes."""

    def test_by_size(self) -> None:
        """As many whole segments as fit into the surplus: never less than retention.bytes is kept."""
        partition = new_partition(SEGMENT)
        fill(partition, *[sized_batch(400)] * 7)
        for retention_bytes, start in ((2001, 0), (2000, 2), (1201, 2), (1200, 4), (401, 4), (400, 6), (0, 7)):
            partition.config.retention_bytes = retention_bytes
            partition.apply_retention(NOW_MS)
            assert partition.log_start_offset == start, retention_bytes
        assert (partition.log_end_offset, partition.size_bytes) == (7, 0)
        fill(partition, batch_of(1))
        assert offsets_of(read_all(partition)) == [7]

    def test_by_time(self) -> None:
        """By the newest record of each segment, and later than retention.ms, not at it."""
        partition = new_partition(SEGMENT | {"retention.ms": "1000"})
        fill(partition, *(sized_batch(400, base_timestamp=NOW_MS + step) for step in (0, 10, 20, 5, 30)))
        for wall_ms, start in ((1010, 0), (1011, 2), (1020, 2), (1021, 4), (1030, 4), (1031, 5)):
            partition.apply_retention(NOW_MS + wall_ms)
            assert partition.log_start_offset == start, wall_ms

    def test_a_record_from_the_future_keeps_its_segment(self) -> None:
        """And all that come after it, for a log has no holes."""
        partition = new_partition(SEGMENT | {"retention.ms": "1000"})
        fill(partition, sized_batch(600, base_timestamp=NOW_MS + HOUR_MS), sized_batch(600), sized_batch(600))
        partition.apply_retention(NOW_MS + HOUR_MS + 1000)
        assert partition.log_start_offset == 0
        partition.apply_retention(NOW_MS + HOUR_MS + 1001)
        assert partition.log_start_offset == 3

    def test_old_timestamps_vanish_early(self) -> None:
        """A topic filled with history loses it at the first check."""
        partition = new_partition()
        fill(partition, batch_of(3, base_timestamp=5))
        partition.apply_retention(NOW_MS)
        assert (partition.log_start_offset, partition.log_end_offset) == (3, 3)

    def test_records_without_timestamps_go_by_when_they_were_written(self) -> None:
        """There is nothing else to go by."""
        partition = new_partition({"retention.ms": "1000"})
        fill(partition, batch_of(1, base_timestamp=-1), wall_ms=NOW_MS)
        fill(partition, batch_of(1, base_timestamp=-1), wall_ms=NOW_MS + 500)
        partition.apply_retention(NOW_MS + 1500)
        assert partition.log_start_offset == 0
        partition.apply_retention(NOW_MS + 1501)
        assert partition.log_start_offset == 2

    @pytest.mark.parametrize(("policy", "start"), [("delete", 4), ("compact,delete", 4), ("compact", 0), ("", 0)])
    def test_only_where_the_policy_says_delete(self, policy: str, start: int) -> None:
        """Everything here is old and too much."""
        partition = new_partition(SEGMENT | {"cleanup.policy": policy, "retention.ms": "0", "retention.bytes": "0"})
        fill(partition, *[sized_batch(400)] * 4)
        partition.apply_retention(NOW_MS + HOUR_MS)
        assert partition.log_start_offset == start

    def test_no_limits(self) -> None:
        """-1 keeps records for ever."""
        partition = new_partition(SEGMENT | {"retention.ms": "-1", "retention.bytes": "-1"})
        fill(partition, *[sized_batch(400)] * 4)
        partition.apply_retention(NOW_MS + 10**12)
        assert partition.log_start_offset == 0

    def test_an_empty_log_stays_as_it_is(self) -> None:
        """There is nothing to remove, and nothing to begin anew."""
        partition = new_partition({"retention.ms": "0", "retention.bytes": "0"})
        for _ in range(3):
            partition.apply_retention(NOW_MS + HOUR_MS)
        assert (partition.log_start_offset, partition.log_end_offset) == (0, 0)


class TestRolling:
    """When a segment is closed, seen by what a read gets: it ends with the segment."""

    def test_by_time(self) -> None:
        """segment.ms between the timestamps of the first batch and of the one that comes."""
        partition = new_partition({"segment.ms": "1000"})
        fill(partition, *(batch_of(1, base_timestamp=NOW_MS + step) for step in (0, 1000, 500, 1001, 1002)))
        assert [partition.read(offset, 10_000).segment_base_offset for offset in range(5)] == [0, 0, 0, 3, 3]

    def test_by_the_clock_where_records_have_no_time(self) -> None:
        """Since the segment was begun."""
        partition = new_partition({"segment.ms": "1000"})
        for wall_ms in (0, 1000, 1001):
            fill(partition, batch_of(1, base_timestamp=-1), wall_ms=NOW_MS + wall_ms)
        assert [partition.read(offset, 10_000).segment_base_offset for offset in range(3)] == [0, 0, 2]

    def test_compaction_may_not_wait_longer(self) -> None:
        """max.compaction.lag.ms closes segments of compacted topics sooner."""
        for policy, base in (("compact", 1), ("delete", 0)):
            partition = new_partition({"cleanup.policy": policy, "max.compaction.lag.ms": "10"})
            fill(partition, batch_of(1), batch_of(1, base_timestamp=NOW_MS + 11))
            assert partition.read(1, 1000).segment_base_offset == base

    def test_by_offsets(self) -> None:
        """Within a segment they are kept in 31 bits."""
        partition = new_partition()
        for last_offset_delta in (2**31 - 3, 1, 0):
            partition.append_internal(batch_of(1, last_offset_delta=last_offset_delta), NOW_MS)
        ends = (2**31 - 3, 2**31 - 1, 2**31)
        assert [partition.read(end, 1000).segment_base_offset for end in ends] == [0, 0, 2**31]

    def test_the_limit_may_change(self) -> None:
        """It is read at each append."""
        partition = new_partition()
        fill(partition, sized_batch(400), sized_batch(400))
        partition.config.segment_bytes = 800
        fill(partition, sized_batch(400))
        assert partition.read(2, 1000).segment_base_offset == 2


class TestLogBytes:
    """All logs share one limit: the machine is never eaten."""

    def test_a_full_account_refuses_and_disturbs_nobody(self) -> None:
        """KAFKA_STORAGE_ERROR with words a person can act on; what is there is served, and smaller batches still go."""
        log_bytes = LogBytes(1000)
        full, other = new_partition(log_bytes=log_bytes), new_partition(log_bytes=log_bytes)
        fill(full, sized_batch(400))
        fill(other, sized_batch(400))

        answer = produce(full, sized_batch(300))

        assert (answer.error, answer.base_offset, answer.log_start_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)
        assert "ottla.log.bytes.max" in (answer.error_message or "")
        assert (full.log_end_offset, full.size_bytes, log_bytes.bytes_held) == (1, 400, 800)
        fill(full, batch_of(1))
        assert offsets_of(read_all(full)) == [0, 1]
        assert offsets_of(read_all(other)) == [0]

    def test_a_refused_producer_may_try_again(self) -> None:
        """Its sequence numbers are not used up by the refusal."""
        log_bytes = LogBytes(100)
        partition = new_partition(log_bytes=log_bytes)
        fill(partition, numbered(0))
        assert produce(partition, numbered(1)).error == ErrorCode.KAFKA_STORAGE_ERROR
        log_bytes.bytes_max = 1000
        assert produce(partition, numbered(1)).base_offset == 1

    def test_a_repeat_needs_no_room(self) -> None:
        """It is answered even when the account is full."""
        log_bytes = LogBytes(75)
        partition = new_partition(log_bytes=log_bytes)
        fill(partition, numbered(0))
        assert produce(partition, numbered(0)).base_offset == 0

    def test_deleting_a_topic_makes_room(self) -> None:
        """To the byte, and once."""
        log_bytes = LogBytes(1000)
        partitions = [new_partition(SEGMENT, log_bytes=log_bytes) for _ in range(2)]
        for partition in partitions:
            fill(partition, sized_batch(400))
        partitions[0].delete()
        partitions[0].delete()
        assert log_bytes.bytes_held == 400
        fill(partitions[1], sized_batch(600))
        assert log_bytes.bytes_held == 1000

    def test_retention_gets_a_chance_first(self) -> None:
        """What retention can remove makes room for the very batch that didn't fit, in its own log too."""
        log_bytes = LogBytes(1000)
        partition = new_partition({"retention.ms": "1000"}, log_bytes=log_bytes)
        log_bytes.reclaim = partition.apply_retention
        events: list[PartitionEvent] = []
        fill(partition, sized_batch(700))
        partition.listeners.append(lambda _, event: events.append(event))
        assert produce(partition, sized_batch(700), wall_ms=NOW_MS + 1000).error == ErrorCode.KAFKA_STORAGE_ERROR

        answer = produce(partition, sized_batch(700, base_timestamp=NOW_MS + 2000), wall_ms=NOW_MS + 2000)

        assert (answer.error, answer.base_offset, answer.log_start_offset) == (ErrorCode.NONE, 1, 1)
        assert (offsets_of(read_all(partition)), log_bytes.bytes_held) == ([1], 700)
        assert events == [PartitionEvent.LOG_START_MOVED, PartitionEvent.ADVANCED]

    def test_retention_in_vain_is_not_tried_at_every_batch(self) -> None:
        """Producers retry quickly; for a second after it made no room, it is left alone."""
        tries: list[int] = []
        log_bytes = LogBytes(1000, tries.append)
        partition = new_partition(log_bytes=log_bytes)
        fill(partition, sized_batch(900))
        for wall_ms in (0, 1, 999, 1000, 1500, 2000):
            assert produce(partition, sized_batch(300), wall_ms=NOW_MS + wall_ms).error
        assert tries == [NOW_MS, NOW_MS + 1000, NOW_MS + 2000]

    def test_retention_that_made_room_is_tried_again_at_once(self) -> None:
        """Only failure makes it pause."""
        log_bytes = LogBytes(1000)
        log_bytes.reclaim = lambda _: log_bytes.give_back(log_bytes.bytes_held)
        assert all(log_bytes.take(800, NOW_MS) for _ in range(5))

    @given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(300, 900)), max_size=60))
    def test_the_account_is_exact(self, steps: list[tuple[int, int, int]]) -> None:
        """After any mix of appends, removals and deletions it is the sum of what the logs hold."""
        log_bytes = LogBytes(6000)
        partitions = [new_partition(SEGMENT, log_bytes=log_bytes) for _ in range(3)]
        for which, action, size in steps:
            partition = partitions[which]
            if action <= 1:
                answer = produce(partition, sized_batch(size))
                fits = log_bytes.bytes_held + size <= log_bytes.bytes_max
                assert not answer.error or not fits
            elif action == 2:
                partition.delete_records(min(partition.log_start_offset + 2, partition.high_watermark))
                partition.apply_retention(NOW_MS)
            elif action == 3:
                partition.apply_retention(NOW_MS + 8 * 24 * HOUR_MS)
            else:
                partition.delete()
                partitions[which] = new_partition(SEGMENT, log_bytes=log_bytes)
            assert log_bytes.bytes_held == sum(partition.size_bytes for partition in partitions) <= 6000


def test_listeners_hear_what_moved() -> None:
    """In the order of events, each after everything is in place; a refused or repeated batch moves nothing."""
    partition = new_partition()
    heard: list[tuple[PartitionEvent, int, int]] = []

    def listen(told: Partition, event: PartitionEvent) -> None:
        heard.append((event, told.log_start_offset, told.high_watermark))

    partition.listeners.append(listen)
    fill(partition, numbered(0, 2), numbered(2, 3))
    produce(partition, numbered(2, 3))
    produce(partition, b"")
    partition.delete_records(3)
    partition.delete_records(3)
    partition.lead(1)
    partition.lead(1)
    partition.delete()
    partition.close()
    assert heard == [
        (PartitionEvent.ADVANCED, 0, 2),
        (PartitionEvent.ADVANCED, 0, 5),
        (PartitionEvent.LOG_START_MOVED, 3, 5),
        (PartitionEvent.LEADER_CHANGED, 3, 5),
        (PartitionEvent.CLOSED, 3, 5),
    ]

"""What a partition relies on in any storage. Kafka's own tests of the same: LogSegmentTest, LocalLogTest.

An implementation is tested by a class that says how to make one:

    class TestMyStorage(LogStorageContract):
        def open(self) -> LogStorage: ...       # a new log, empty
        def reopen(self, storage) -> LogStorage: ...    # the same log after `storage.close()`
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from struct import Struct
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.producer_entry import NumberedBatch, ProducerEntry
from ottla.log.storage.contract import EpochStart, LogState, LogStorage, StorageError
from ottla.log.storage.segment import AbortedTransaction, Segment
from ottla.protocol.crc32c import crc32c

WALL_MS: Final = 1_700_000_000_000

_HEADER: Final = Struct(">qiibIhiqqqhii")


def batch(base_offset: int, count: int, size: int = 100, timestamp: int = WALL_MS) -> bytes:
    """A batch as far as a storage may look: its header is right, its checksum too. The rest tells batches apart."""
    data = bytearray(
        _HEADER.pack(base_offset, size - 12, 0, 2, 0, 0, count - 1, timestamp, timestamp, -1, -1, -1, count)
    )
    data += bytes([base_offset % 251]) * (size - len(data))
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    return bytes(data)


def append(storage: LogStorage, *batches: tuple[int, int], size: int = 100, timestamp: int = WALL_MS) -> None:
    """Append batches given as (base offset, records)."""
    for base_offset, count in batches:
        data = bytearray(batch(base_offset, count, size, timestamp))
        storage.append(data, base_offset + count - 1, timestamp, WALL_MS)
        data[:] = bytes(size)  # it belongs to the caller again


def content(storage: LogStorage) -> list[tuple[int, bytes]]:
    """(base offset, all bytes) of every segment."""
    return [(segment.base_offset, bytes(segment.slice(0, segment.size_bytes))) for segment in storage.segments]


def batches_of(segment: Segment) -> list[bytes]:
    return [bytes(data) for data in segment.batches()]


def replace(storage: LogStorage, first: int, count: int, *batches: tuple[int, int]) -> Segment:
    """Have one segment with these batches take the place of some."""
    replacement = storage.replace(storage.segments[first : first + count])
    for base_offset, records in batches:
        replacement.append(batch(base_offset, records), base_offset + records - 1, WALL_MS)
    return replacement.commit()


class LogStorageContract(ABC):
    """The suite."""

    @abstractmethod
    def open(self) -> LogStorage:
        """A new log. The same storage is not asked for twice within a test."""

    @abstractmethod
    def reopen(self, storage: LogStorage) -> LogStorage:
        """The log again, as after a restart; `storage` is closed."""

    @pytest.fixture
    def storage(self) -> LogStorage:
        return self.open()

    def test_a_new_log_is_one_empty_segment(self, storage: LogStorage) -> None:
        """At offset 0, with nothing in it and nothing kept beside it."""
        (segment,) = storage.segments
        assert (segment.base_offset, segment.next_offset, segment.size_bytes, batches_of(segment)) == (0, 0, 0, [])
        assert (segment.max_timestamp, segment.aborted, bytes(segment.slice(0, 0))) == (-1, [], b"")
        assert (segment.find(0), segment.find(7), segment.find_timestamp(0)) == ((0, 0), (0, 0), 0)
        assert (storage.load_state(), storage.load_producers()) == (None, None)

    def test_batches_lie_back_to_back(self, storage: LogStorage) -> None:
        """Exactly the bytes that came, in order, and each can be had alone."""
        append(storage, (0, 2), (2, 1))
        append(storage, (3, 5), size=333)
        (segment,) = storage.segments
        expected = [batch(0, 2), batch(2, 1), batch(3, 5, 333)]
        assert content(storage) == [(0, b"".join(expected))]
        assert batches_of(segment) == expected
        assert [bytes(data) for data in segment.batches(100)] == expected[1:]
        assert list(segment.batches(533)) == []
        assert (segment.next_offset, segment.size_bytes) == (8, 533)

    def test_any_range_can_be_read(self, storage: LogStorage) -> None:
        """From any position, as many bytes as there are."""
        append(storage, *((offset, 1) for offset in range(20)))
        whole = b"".join(batch(offset, 1) for offset in range(20))
        segment = storage.segments[0]
        for position, size in ((0, 1), (0, 2000), (150, 100), (1999, 1), (700, 1300), (5, 0)):
            assert bytes(segment.slice(position, size)) == whole[position : position + size]

    def test_offsets_are_found_by_where_batches_end(self, storage: LogStorage) -> None:
        """In the middle of a batch, in a gap that compaction left, before the first and after the last."""
        append(storage, (2, 3), (10, 1), (11, 5))
        segment = storage.segments[0]
        found = {offset: segment.find(offset) for offset in (0, 2, 4, 5, 9, 10, 11, 15)}
        first, second, third = (0, 100), (100, 100), (200, 100)
        assert found == {0: first, 2: first, 4: first, 5: second, 9: second, 10: second, 11: third, 15: third}
        assert (segment.find(16), segment.find(99)) == ((300, 0), (300, 0))

    def test_much_is_found_as_well_as_little(self, storage: LogStorage) -> None:
        """Thousands of batches of many sizes, each by each of its offsets, by its bytes and by its time."""
        places = []
        position = offset = 0
        for number in range(3000):
            size, count = 61 + number * 37 % 900, 1 + number % 3
            append(storage, (offset, count), size=size, timestamp=WALL_MS + number)
            places.append((offset, count, position, size))
            offset, position = offset + count, position + size
        segment = storage.segments[0]
        for number, (base_offset, count, start, size) in enumerate(places):
            assert segment.find(base_offset) == segment.find(base_offset + count - 1) == (start, size)
            assert segment.find_timestamp(WALL_MS + number) == start
        assert segment.find(offset) == (position, 0)

    def test_the_index_has_a_batch_for_every_4_kib(self, storage: LogStorage) -> None:
        """The first with more than that before it, since the last one that has an entry; asked in any order."""
        sizes = [1000, 1000, 1000, 1000, 1000, 4096, 61, 5000, 61, 61]
        for offset, size in enumerate(sizes):
            append(storage, (offset, 1), size=size)
        segment = storage.segments[0]
        asked = {5000: 5, 0: 5, 9096: 7, 9157: 7, 9158: 8, 14157: 8, 14158: None}
        assert {position: segment.indexed_offset_from(position) for position in asked} == asked

    def test_times_are_found_by_what_came_so_far(self, storage: LogStorage) -> None:
        """The first batch with which the segment reached a time, though later ones may be older."""
        for offset, timestamp in enumerate((50, 40, 70, 70, 10, 90)):
            append(storage, (offset, 1), timestamp=timestamp)
        segment = storage.segments[0]
        found = {timestamp: segment.find_timestamp(timestamp) for timestamp in (-1, 50, 51, 70, 71, 90, 91)}
        assert found == {-1: 0, 50: 0, 51: 200, 70: 200, 71: 500, 90: 500, 91: 600}
        assert (segment.max_timestamp, segment.largest_timestamp) == (90, 90)

    def test_without_times_the_last_write_counts(self, storage: LogStorage) -> None:
        """Retention has to go by something."""
        storage.append(batch(0, 1, timestamp=-1), 0, -1, WALL_MS + 7)
        segment = storage.segments[0]
        assert (segment.max_timestamp, segment.largest_timestamp) == (-1, WALL_MS + 7)
        assert segment.waited_for_roll_ms(WALL_MS + 99, segment.created_ms + 5) == 5
        storage.append(batch(1, 1), 1, WALL_MS, WALL_MS + 8)
        assert segment.largest_timestamp == WALL_MS

    def test_a_roll_begins_a_segment(self, storage: LogStorage) -> None:
        """At the offset it is told; later batches go there, and what was before stays."""
        append(storage, (0, 5))
        storage.roll(5, WALL_MS + 1)
        assert [segment.base_offset for segment in storage.segments] == [0, 5]
        assert (storage.segments[1].size_bytes, storage.segments[1].next_offset) == (0, 5)
        append(storage, (5, 2))
        assert content(storage) == [(0, batch(0, 5)), (5, batch(5, 2))]
        assert storage.segments[0].waited_for_roll_ms(WALL_MS + 30, 0) == 30

    def test_the_oldest_go_first(self, storage: LogStorage) -> None:
        """Whole segments with all that belongs to them; the rest is as it was."""
        for base_offset in (0, 5, 10, 15):
            if base_offset:
                storage.roll(base_offset, WALL_MS)
            append(storage, (base_offset, 5))
        storage.segments[2].aborted.append(AbortedTransaction(1, 10, 11, 12))
        storage.remove_oldest(2)
        assert content(storage) == [(10, batch(10, 5)), (15, batch(15, 5))]
        assert storage.segments[0].aborted == [AbortedTransaction(1, 10, 11, 12)]
        storage.remove_oldest(0)
        assert len(storage.segments) == 2
        append(storage, (20, 1))
        assert storage.segments[-1].next_offset == 21

    def test_what_was_handed_out_stays(self, storage: LogStorage) -> None:
        """A fetch on its way to a client sees neither later appends nor removal nor deletion."""
        append(storage, (0, 1), (1, 1))
        taken = storage.segments[0].slice(0, 200)
        before = bytes(taken)
        append(storage, *((offset, 1) for offset in range(2, 200)), size=1000)
        assert bytes(taken) == before
        storage.roll(200, WALL_MS)
        storage.remove_oldest(1)
        append(storage, (200, 1))
        assert bytes(taken) == before
        storage.delete()
        assert bytes(taken) == before

    def test_batches_of_any_size(self, storage: LogStorage) -> None:
        """From the smallest to many megabytes, in any order."""
        sizes = [61, 5_000_000, 100, 70_000, 20_000_000, 61, 1_000_000]
        for offset, size in enumerate(sizes):
            append(storage, (offset, 1), size=size)
        segment = storage.segments[0]
        assert segment.size_bytes == sum(sizes)
        assert all(data == batch(number, 1, sizes[number]) for number, data in enumerate(batches_of(segment)))
        assert bytes(segment.slice(0, segment.size_bytes)) == b"".join(batches_of(segment))

    def test_a_deleted_log_holds_nothing(self, storage: LogStorage) -> None:
        """It is an empty log that nobody writes to."""
        append(storage, (0, 5))
        storage.save_state(LogState(2, (EpochStart(0, 0),)))
        storage.delete()
        assert [segment.size_bytes for segment in storage.segments] == [0]

    def test_everything_is_there_after_a_restart(self, storage: LogStorage) -> None:
        """Batches, segments, times, and the state; and the log goes on."""
        append(storage, (0, 5), timestamp=WALL_MS + 5)
        append(storage, (5, 2), timestamp=WALL_MS + 3)
        storage.roll(7, WALL_MS)
        append(storage, (7, 1))
        state = LogState(3, (EpochStart(0, 0), EpochStart(4, 6)))
        storage.save_state(state)
        before = content(storage)
        storage.flush()
        storage.close()

        again = self.reopen(storage)

        assert content(again) == before
        assert again.load_state() == state
        assert [segment.next_offset for segment in again.segments] == [7, 8]
        assert [segment.find(5) for segment in again.segments] == [(100, 100), (0, 100)]
        assert [segment.max_timestamp for segment in again.segments] == [WALL_MS + 5, WALL_MS]
        append(again, (8, 2))
        assert again.segments[-1].next_offset == 10

    def test_one_segment_takes_the_place_of_others(self, storage: LogStorage) -> None:
        """What was handed out stays; what is not replaced is as it was, before and after a restart."""
        for base_offset in (0, 5, 10, 15):
            if base_offset:
                storage.roll(base_offset, WALL_MS)
            append(storage, (base_offset, 2), (base_offset + 2, 3))
        before = content(storage)
        taken = storage.segments[1].slice(0, 200)
        replacement = storage.replace(storage.segments[1:3])
        replacement.append(batch(7, 3), 9, WALL_MS)
        replacement.append(batch(12, 3), 14, WALL_MS + 9)
        assert (replacement.size_bytes, content(storage)) == (200, before)
        append(storage, (20, 1))

        segment = replacement.commit([AbortedTransaction(1, 7, 9, 10)])

        expected = [before[0], (5, batch(7, 3) + batch(12, 3)), (15, before[3][1] + batch(20, 1))]
        assert content(storage) == expected
        assert storage.segments[1] is segment
        assert (segment.next_offset, segment.max_timestamp, segment.find(11)) == (15, WALL_MS + 9, (100, 100))
        assert segment.aborted == [AbortedTransaction(1, 7, 9, 10)]
        assert bytes(taken) == before[1][1]
        storage.close()
        assert content(self.reopen(storage)) == expected

    def test_a_segment_may_be_replaced_by_nothing(self, storage: LogStorage) -> None:
        """It stays as an empty one, so that offsets belong where they belonged."""
        append(storage, (0, 5))
        storage.roll(5, WALL_MS)
        append(storage, (5, 5))
        replace(storage, 0, 1)
        assert content(storage) == [(0, b""), (5, batch(5, 5))]
        assert storage.segments[0].find(3) == (0, 0)

    def test_an_abandoned_replacement_leaves_no_trace(self, storage: LogStorage) -> None:
        """And another may be begun."""
        append(storage, (0, 5))
        storage.roll(5, WALL_MS)
        before = content(storage)
        replacement = storage.replace(storage.segments[:1])
        replacement.append(batch(4, 1), 4, WALL_MS)
        replacement.abandon()
        assert content(storage) == before
        replace(storage, 0, 1, (4, 1))
        assert content(storage) == [(0, batch(4, 1)), (5, b"")]

    def test_what_is_gone_is_not_replaced(self, storage: LogStorage) -> None:
        """Retention was quicker: the commit fails, and the log is as retention left it."""
        append(storage, (0, 5))
        storage.roll(5, WALL_MS)
        append(storage, (5, 5))
        storage.roll(10, WALL_MS)
        replacement = storage.replace(storage.segments[:2])
        replacement.append(batch(4, 1), 4, WALL_MS)
        storage.remove_oldest(1)
        with pytest.raises(StorageError, match="gone"):
            replacement.commit()
        replacement.abandon()
        assert content(storage) == [(5, batch(5, 5)), (10, b"")]

    def test_an_empty_log_after_a_restart(self, storage: LogStorage) -> None:
        """A topic nobody wrote to, and one that retention has emptied."""
        storage.close()
        again = self.reopen(storage)
        assert content(again) == [(0, b"")]
        append(again, (0, 5))
        again.roll(5, WALL_MS)
        again.remove_oldest(1)
        again.close()
        assert content(self.reopen(again)) == [(5, b"")]

    def test_a_snapshot_of_producers_is_kept_or_not(self, storage: LogStorage) -> None:
        """A storage may do without. What it gives back fits the log, and is what was saved, not what became of it."""
        append(storage, (0, 5))
        entry = ProducerEntry(7, 2, 3, WALL_MS, 4, [NumberedBatch(0, 4, 0, 4, WALL_MS)])
        aborted = AbortedTransaction(8, 1, 4, 5)
        storage.segments[0].aborted.append(aborted)
        storage.save_producers(5, [entry])
        append(storage, (5, 5))
        entry.take_epoch(9)
        storage.close()

        again = self.reopen(storage)

        loaded = again.load_producers()
        if loaded is not None:
            assert again.segments[0].aborted == [aborted]
            offset, (kept,) = loaded
            assert offset == 5
            assert (kept.producer_id, kept.producer_epoch, kept.coordinator_epoch) == (7, 2, 3)
            assert (kept.last_timestamp, kept.transaction_first_offset) == (WALL_MS, 4)
            assert kept.batches[-1] == NumberedBatch(0, 4, 0, 4, WALL_MS)

    def test_any_history_reads_like_a_list(self) -> None:
        """Appends, rolls and removals in any order, then every batch and any range, before and after a restart."""

        @given(data=st.data())
        def any_history(data: st.DataObject) -> None:
            self.follow(data)

        any_history()

    def follow(self, data: st.DataObject) -> None:
        """Do what `data` draws to a storage and to a list."""
        storage = self.open()
        model: list[tuple[int, list[bytes]]] = [(0, [])]
        end = 0
        for _ in range(data.draw(st.integers(0, 25))):
            match data.draw(st.sampled_from(["append", "append", "append", "roll", "remove"])):
                case "append":
                    count, size = data.draw(st.tuples(st.integers(1, 9), st.integers(61, 3000)))
                    append(storage, (end, count), size=size)
                    model[-1][1].append(batch(end, count, size))
                    end += count
                case "roll" if model[-1][1]:
                    storage.roll(end, WALL_MS)
                    model.append((end, []))
                case "remove":
                    count = data.draw(st.integers(0, len(model) - 1))
                    storage.remove_oldest(count)
                    del model[:count]
        self.check_against(storage, model, data)
        storage.close()
        self.check_against(self.reopen(storage), model, data)

    def check_against(self, storage: LogStorage, model: list[tuple[int, list[bytes]]], data: Any) -> None:
        """The storage holds what the model does."""
        assert content(storage) == [(base_offset, b"".join(batches)) for base_offset, batches in model]
        for segment, (_, batches) in zip(storage.segments, model, strict=True):
            assert batches_of(segment) == batches
            position = data.draw(st.integers(0, segment.size_bytes))
            size = data.draw(st.integers(0, segment.size_bytes - position))
            assert bytes(segment.slice(position, size)) == b"".join(batches)[position : position + size]

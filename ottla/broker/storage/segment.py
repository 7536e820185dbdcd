"""One segment: a run of batches back to back, and where each of them ends.

Retention removes whole segments and a fetch reads within one, so segments are visible from outside, by time and by
size. Every batch has an entry in three arrays:

    last offset, relative to the segment's base     first batch at or after an offset: one bisection, gaps or no gaps
    position of its first byte
    largest timestamp so far, this batch included   first batch that reaches a timestamp: one bisection

Finding the batch by its *last* offset is what makes compacted logs work, where offsets are missing. Sixteen bytes a
batch; Kafka keeps an entry for every 4 KiB instead and scans from there. Timestamps are those of the records, as
Kafka's: a segment whose records have none counts by the time it was last written.

A storage derives from `Segment` and adds where the bytes are. Kafka: LogSegment, OffsetIndex, TimeIndex,
TransactionIndex.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ottla.protocol.varint import Buffer

#: Offsets within a segment are kept relative to its base, in 32 bits with a sign in Kafka's index files.
RELATIVE_OFFSET_MAX: Final = 2**31 - 1


class AbortedTransaction(NamedTuple):
    """A transaction of which a reader of committed records must see nothing.

    `last_offset` is its abort marker's; `last_stable_offset` that of the log once the marker was written.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Segment:
    """The index of a segment, without its bytes."""

    __slots__ = (
        "_largest_timestamps",
        "_last_offsets",
        "_positions",
        "aborted",
        "base_offset",
        "created_ms",
        "modified_ms",
        "size_bytes",
    )

    def __init__(self, base_offset: int, created_ms: int) -> None:
        self.base_offset = base_offset
        self.created_ms = created_ms
        #: When it was last written to; on disk, the file's time.
        self.modified_ms = created_ms
        self.size_bytes = 0
        #: Transactions whose abort marker lies in this segment, in the order of their markers.
        self.aborted: list[AbortedTransaction] = []
        self._last_offsets = array("I")
        self._positions = array("I")
        self._largest_timestamps = array("q")

    def slice(self, position: int, size: int) -> Buffer:
        """`size` bytes from `position`, which stay as they are whatever happens to the segment."""
        raise NotImplementedError

    def add(self, last_offset: int, max_timestamp: int, size: int, wall_ms: int) -> None:
        """Index a batch of `size` bytes whose bytes are in place."""
        timestamps = self._largest_timestamps
        if timestamps and timestamps[-1] > max_timestamp:
            max_timestamp = timestamps[-1]
        timestamps.append(max_timestamp)
        self._last_offsets.append(last_offset - self.base_offset)
        self._positions.append(self.size_bytes)
        self.size_bytes += size
        self.modified_ms = wall_ms

    @property
    def batch_count(self) -> int:
        return len(self._positions)

    @property
    def next_offset(self) -> int:
        """The offset after the last batch; the base offset of an empty segment."""
        return self.base_offset + self._last_offsets[-1] + 1 if self._last_offsets else self.base_offset

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of a record; -1 without records or with records that have none."""
        return self._largest_timestamps[-1] if self._largest_timestamps else -1

    @property
    def largest_timestamp(self) -> int:
        """What retention by time goes by: `max_timestamp`, or else when the segment was last written to."""
        return self.modified_ms if self.max_timestamp < 0 else self.max_timestamp

    def find(self, offset: int) -> int:
        """The number of the first batch that ends at `offset` or after; `batch_count` if all end before."""
        return bisect_left(self._last_offsets, offset - self.base_offset) if offset > self.base_offset else 0

    def find_timestamp(self, timestamp: int) -> int:
        """The number of the first batch with a record of `timestamp` or later; `batch_count` if there is none."""
        return bisect_left(self._largest_timestamps, timestamp)

    def find_position(self, position: int) -> int:
        """The number of the first batch that begins at `position` or after; `batch_count` if all begin before."""
        return bisect_left(self._positions, position)

    def position_of(self, number: int) -> int:
        """Where batch `number` begins; the segment's size for the number after the last."""
        return self._positions[number] if number < len(self._positions) else self.size_bytes

    def last_offset_of(self, number: int) -> int:
        return self.base_offset + self._last_offsets[number]

    def batch(self, number: int) -> Buffer:
        """The bytes of batch `number`."""
        position = self._positions[number]
        return self.slice(position, self.position_of(number + 1) - position)

    def waited_for_roll_ms(self, max_timestamp: int, wall_ms: int) -> int:
        """How long the segment has been open when a batch with `max_timestamp` comes: by the timestamps of the first
        batch and this one, or by the clock if the first has none. Kafka: LogSegment.timeWaitedForRoll."""
        if self._largest_timestamps and (first := self._largest_timestamps[0]) >= 0:
            return max_timestamp - first
        return wall_ms - self.created_ms

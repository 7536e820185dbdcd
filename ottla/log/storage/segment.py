"""One segment: a run of batches back to back, and how a batch is found in it.

Retention removes whole segments and a fetch reads within one, so segments are visible from outside, by time and by
size. A batch is known by the position of its first byte. Three questions lead to one:

    find(offset)                the first batch that ends at this offset or after, gaps or no gaps
    find_timestamp(timestamp)   the first batch with which the segment reached this time
    indexed_offset_from(...)    the batch that Kafka's index knows to lie behind a range of bytes

Finding a batch by its *last* offset is what makes compacted logs work, where offsets are missing. Timestamps are those
of the records, as Kafka's: a segment whose records have none counts by the time it was last written.

What this class knows it keeps in plain attributes, so that an idle log costs no look at its bytes. A
storage derives from it, and adds where the bytes are and what finds them. Kafka: LogSegment, OffsetIndex, TimeIndex,
TransactionIndex.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ottla.protocol.primitives import Buffer

#: Kafka's index.interval.bytes.
INDEX_INTERVAL_BYTES: Final = 4096
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
    """What is known of a segment without its bytes. Whatever reads them raises `StorageError` where it can't."""

    __slots__ = (
        "aborted",
        "base_offset",
        "created_ms",
        "first_timestamp",
        "max_timestamp",
        "modified_ms",
        "next_offset",
        "size_bytes",
    )

    def __init__(self, base_offset: int, created_ms: int) -> None:
        self.base_offset = base_offset
        #: The offset after the last batch; the base offset of an empty segment.
        self.next_offset = base_offset
        self.created_ms = created_ms
        #: When it was last written to; on disk, the file's time.
        self.modified_ms = created_ms
        self.size_bytes = 0
        #: The largest timestamp of the first batch; -1 without batches or if its records have none.
        self.first_timestamp = -1
        #: The largest timestamp of a record; -1 without records or with records that have none.
        self.max_timestamp = -1
        #: Transactions whose abort marker lies in this segment, in the order of their markers.
        self.aborted: list[AbortedTransaction] = []

    def slice(self, position: int, size: int) -> Buffer:
        """`size` bytes from `position`, which stay as they are whatever happens to the segment."""
        raise NotImplementedError

    def find(self, offset: int) -> tuple[int, int]:
        """(position, size) of the first batch that ends at `offset` or after; (size_bytes, 0) if all end before."""
        raise NotImplementedError

    def find_timestamp(self, timestamp: int) -> int:
        """Position of the first batch with which the segment reached `timestamp`; size_bytes if it never did."""
        raise NotImplementedError

    def indexed_offset_from(self, position: int) -> int | None:
        """The last offset of the first batch from `position` on that has an entry in Kafka's index; None: none has.

        A batch gets one if more than `INDEX_INTERVAL_BYTES` lie before it since the last. Kafka:
        OffsetIndex.fetchUpperBoundOffset.
        """
        raise NotImplementedError

    def batches(self, position: int = 0) -> Iterator[Buffer]:
        """The batches from the one that begins at `position` on, up to the last there is when it is asked for."""
        raise NotImplementedError

    def count(self, last_offset: int, max_timestamp: int, size: int, wall_ms: int) -> None:
        """Count in a batch of `size` bytes that has come to the end."""
        if self.size_bytes == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:  # noqa: PLR1730 (a third of what `max` takes, with each batch)
            self.max_timestamp = max_timestamp
        self.next_offset = last_offset + 1
        self.size_bytes += size
        self.modified_ms = wall_ms

    @property
    def largest_timestamp(self) -> int:
        """What retention by time goes by: `max_timestamp`, or else when the segment was last written to."""
        return self.modified_ms if self.max_timestamp < 0 else self.max_timestamp

    def waited_for_roll_ms(self, max_timestamp: int, wall_ms: int) -> int:
        """How long the segment has been open when a batch with `max_timestamp` comes: by the timestamps of the first
        batch and this one, or by the clock if the first has none. Kafka: LogSegment.timeWaitedForRoll."""
        if self.first_timestamp >= 0:
            return max_timestamp - self.first_timestamp
        return wall_ms - self.created_ms

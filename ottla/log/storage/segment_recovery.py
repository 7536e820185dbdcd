"""What a segment's file holds, found out after a crash.

    measure   a file that was complete before: what its index says, and the last few batches
    recover   one that may not be: batch by batch from the recovery point on, up to the first that is not right

What is before the recovery point is taken from the index as far as that leads; an index that doesn't fit counts for
nothing. `read(position, size)` is whatever reads the file. Kafka: LogSegment.recover, LogSegment.sanityCheck.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.log.storage.batch_scan import DamagedError, FoundBatch, Read, check, scan
from ottla.log.storage.segment import RELATIVE_OFFSET_MAX
from ottla.log.storage.sparse_index import SparseIndex


@dataclass(slots=True)
class Contents:
    """The batches of a file, from its beginning up to `size_bytes`."""

    index: SparseIndex
    #: The offset after the last batch.
    next_offset: int
    size_bytes: int = 0
    #: As `Segment` has them.
    first_timestamp: int = -1
    max_timestamp: int = -1

    def count(self, batch: FoundBatch) -> None:
        """Count in the next batch."""
        self.next_offset = batch.last_offset + 1
        self.max_timestamp = max(self.max_timestamp, batch.max_timestamp)
        self.size_bytes = batch.position + batch.size_bytes


def make_index(read: Read, base_offset: int, size_bytes: int) -> SparseIndex:
    """The index of a segment, from its batches. Raises `DamagedError`."""
    index = SparseIndex()
    max_timestamp = -1
    for batch in scan(read, 0, size_bytes):
        index.add(batch.last_offset - base_offset, batch.position, batch.size_bytes, batch.max_timestamp, max_timestamp)
        max_timestamp = max(max_timestamp, batch.max_timestamp)
    return index


def measure(read: Read, base_offset: int, size_bytes: int, index: SparseIndex) -> Contents:
    """What is in a whole file that is not empty. Raises `DamagedError` if the index says something else."""
    contents = Contents(index, base_offset, max_timestamp=index.last_time)
    contents.first_timestamp = next(scan(read, 0, size_bytes)).max_timestamp
    last_time_position = index.position_before(index.last_time_offset)
    _expect(read, base_offset, size_bytes, index.last_time_offset, last_time_position, index.last_time)
    _expect(read, base_offset, size_bytes, *index.last_entry)
    for batch in scan(read, index.last_position(size_bytes), size_bytes):
        contents.count(batch)
    return contents


def _expect(
    read: Read,
    base_offset: int,
    size_bytes: int,
    relative_offset: int,
    position: int,
    max_timestamp: int | None = None,
) -> None:
    """Raise `DamagedError` unless there is a batch with this last offset from `position` on; -1: none is sought."""
    if relative_offset < 0:
        return
    offset = base_offset + relative_offset
    found = next((batch for batch in scan(read, position, size_bytes) if batch.last_offset >= offset), None)
    if found is None or found.last_offset != offset or max_timestamp not in (None, found.max_timestamp):
        raise DamagedError(f"its index expects another batch at offset {offset}")


def recover(
    read: Read,
    base_offset: int,
    size_bytes: int,
    index: SparseIndex | None,
    from_offset: int,
    end_offset: int | None,
    dense_from: int,
) -> tuple[Contents, DamagedError | None]:
    """(what is right in a file, what is wrong with the rest), of which the batches from an offset on are checked.

    `index`: None: there is none that may be used. `end_offset`: where the next segment begins; None: this one is
    active. `dense_from`: what is beyond has no gaps.
    """
    contents = _measure_up_to(read, base_offset, size_bytes, index, from_offset)
    index = contents.index
    limit = base_offset + RELATIVE_OFFSET_MAX + 1 if end_offset is None else end_offset
    try:
        for batch in check(read, contents.size_bytes, size_bytes, contents.next_offset, limit, dense_from):
            relative = batch.last_offset - base_offset
            index.add(relative, batch.position, batch.size_bytes, batch.max_timestamp, contents.max_timestamp)
            if batch.position == 0:
                contents.first_timestamp = batch.max_timestamp
            contents.count(batch)
    except DamagedError as damage:
        return contents, damage
    return contents, None


def _measure_up_to(read: Read, base_offset: int, size_bytes: int, index: SparseIndex | None, offset: int) -> Contents:
    """What ends before `offset`, as far as the index leads there."""
    start = 0 if index is None else index.position_before(offset - 1 - base_offset)
    if index is None or start == 0:
        return Contents(SparseIndex(), base_offset)
    contents = Contents(index, base_offset, start)
    try:
        contents.first_timestamp = next(scan(read, 0, size_bytes)).max_timestamp
        for batch in scan(read, start, size_bytes):
            if batch.last_offset >= offset:
                break
            contents.count(batch)
    except DamagedError:
        return Contents(SparseIndex(), base_offset)
    index.cut(contents.size_bytes)
    contents.max_timestamp = max(contents.max_timestamp, index.last_time)
    return contents

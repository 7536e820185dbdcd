"""Walking over the batches of a file by their headers alone, and checking all of them where a crash may have been.

    scan(read, position, end)       where each batch is, and what of its header finding needs
    check(read, position, end, …)   the same, with the whole batch against its checksum, as far as it is right

`read(position, size)` is whatever reads the file. Kafka: LogSegment.recover, FileLogInputStream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from ottla.protocol.primitives import Buffer
from ottla.protocol.records import BATCH_OVERHEAD, LOG_OVERHEAD, checksum_matches, read_header

#: The beginning of a batch's header, as far as it is of interest here.
_HEADER: Final = Struct(">qi4xb6xi8xq")
_BATCH_LENGTH_MIN: Final = BATCH_OVERHEAD - LOG_OVERHEAD
_OFFSET_MAX: Final = 2**63 - 1
#: How much is read at once to look at headers; batches are mostly larger, or there are many in it.
_LOOK_BYTES: Final = 4096
#: How much is read at once where all of it is needed.
CHUNK_BYTES: Final = 1 << 20

Read: TypeAlias = Callable[[int, int], Buffer]


class FoundBatch(NamedTuple):
    """A batch in a file."""

    position: int
    size_bytes: int
    last_offset: int
    max_timestamp: int


class DamagedError(Exception):
    """There is no batch where one has to be. The text says what there is."""


def scan(read: Read, position: int, end: int) -> Iterator[FoundBatch]:
    """The batches from `position`, where one begins, up to `end`. Raises `DamagedError` where there is none."""
    window: Buffer = b""
    window_start = window_end = position
    while position < end:
        if position + _HEADER.size > window_end:
            window = read(position, min(_LOOK_BYTES, end - position))
            window_start, window_end = position, position + len(window)
        found = batch_at(window, position - window_start, position, end)
        yield found
        position += found.size_bytes


def batch_at(buffer: Buffer, at: int, position: int, end: int) -> FoundBatch:
    """The batch that begins at `at` of a buffer, and at `position` of a file. Raises `DamagedError`."""
    if at + _HEADER.size > len(buffer):
        raise DamagedError(f"{len(buffer) - at} bytes at position {position} are too few for a batch")
    base_offset, batch_length, magic, last_offset_delta, max_timestamp = _HEADER.unpack_from(buffer, at)
    if magic != 2 or batch_length < _BATCH_LENGTH_MIN or base_offset < 0 or last_offset_delta < 0:
        raise DamagedError(f"what is at position {position} is no batch")
    if position + LOG_OVERHEAD + batch_length > end:
        raise DamagedError(f"the batch at position {position} is cut off")
    return FoundBatch(position, LOG_OVERHEAD + batch_length, base_offset + last_offset_delta, max_timestamp)


def whole_batches(read: Read, position: int, end: int) -> Iterator[tuple[FoundBatch, memoryview]]:
    """The batches from `position` up to `end` with their bytes. Raises `DamagedError` where there is none."""
    while position < end:
        chunk = memoryview(read(position, min(CHUNK_BYTES, end - position)))
        start = position
        while position + _HEADER.size <= start + len(chunk):
            found = batch_at(chunk, position - start, position, end)
            if position - start + found.size_bytes > len(chunk):
                if position == start:  # larger than a chunk
                    chunk = memoryview(read(position, found.size_bytes))
                else:
                    break
            yield found, chunk[position - start : position - start + found.size_bytes]
            position += found.size_bytes
        if position == start:
            raise DamagedError(f"{end - position} bytes at position {position} are too few for a batch")


def check(
    read: Read,
    position: int,
    end: int,
    next_offset: int,
    end_offset: int = _OFFSET_MAX,
    dense_from: int = _OFFSET_MAX,
) -> Iterator[FoundBatch]:
    """The batches that are right, up to the first that is not. Raises `DamagedError` there.

    Wrong is a checksum, or an offset, which no checksum covers: one before `next_offset`, where the batch before it
    ended, or from `end_offset` on; and beyond `dense_from`, where there can't be gaps, any other than `next_offset`.
    """
    for found, batch in whole_batches(read, position, end):
        header = read_header(batch)
        base_offset = header.base_offset
        is_gap = base_offset > next_offset and base_offset > dense_from
        if base_offset < next_offset or is_gap or found.last_offset >= end_offset:
            raise DamagedError(f"the batch at position {found.position} can't begin at offset {base_offset}")
        if not checksum_matches(batch, header):
            raise DamagedError(f"the batch at position {found.position} does not match its checksum")
        next_offset = found.last_offset + 1
        yield found

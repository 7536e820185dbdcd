"""Logs in memory: nothing before the first batch, then one copy per batch in and none out.

A segment's bytes lie in chunks. A chunk is one block of memory that is filled from front to back and never moved while
a reader looks at it, so a fetch gets a view of it instead of a copy.

    segment  ┌ chunk 0 ───────────────┐┌ chunk 1 ────────────┐
             │ batch batch … batch    ││ batch batch          │
             └────────────────────────┘└──────────────────────┘

The first chunk starts small and doubles by copying into a new block, so that thousands of little topics cost little.
So does the first one behind what a log shares with a snapshot. From `CHUNK_BYTES_SMALL` on, a chunk is a block of
`CHUNK_BYTES` from the `arena`, which makes the pages of a busy log ahead of it. A batch never spans two chunks. A fetch
that does is the one case that copies. Each segment has its own chunks, so removing it gives its memory back once the
last view is gone.

Every batch has an entry in three arrays, sixteen bytes in all, so that any is found by one bisection; Kafka keeps an
entry for every 4 KiB instead and scans from there (which batches have one is noted too, for answers that depend on it):

    last offset, relative to the segment's base
    position of its first byte
    largest timestamp so far, this batch included
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.log.storage.arena import ARENA, Block
from ottla.log.storage.contract import LogState, StorageError, find_run
from ottla.log.storage.log_bytes import BYTES_MAX_SETTING, LogBytes
from ottla.log.storage.segment import INDEX_INTERVAL_BYTES, AbortedTransaction, Segment

if TYPE_CHECKING:
    import mmap

    from ottla.log.producer_entry import ProducerEntry
    from ottla.protocol.primitives import Buffer

_KIB: Final = 1024
CHUNK_BYTES_FIRST: Final = 1 * _KIB
CHUNK_BYTES_SMALL: Final = 512 * _KIB
CHUNK_BYTES: Final = 64 * _KIB * _KIB


class _Chunk:
    """A piece of memory filled up to `used`, and `limit` is how far it may be filled as it is.

    `start` is the segment's position of its first byte.
    """

    __slots__ = ("_block", "limit", "memory", "start", "used", "view")

    def __init__(self, start: int, capacity: int, *, begins_log: bool = False) -> None:
        """With room for so many bytes. `begins_log`: little is written yet. Raises OSError or MemoryError."""
        self.start = start
        self.used = 0
        self.memory: bytearray | mmap.mmap
        #: For a large chunk. Readers refer to its memory, the writer to the block.
        self._block: Block | None = None
        if capacity <= CHUNK_BYTES_SMALL:
            self.memory = bytearray(capacity)
            self.limit = capacity
        else:
            self._block = ARENA.new_block(capacity, begins_log=begins_log)
            self.memory = self._block.memory
            self.limit = self._block.limit
        self.view = memoryview(self.memory).toreadonly()

    @property
    def is_small(self) -> bool:
        """Whether it is made larger when it is full."""
        return self._block is None and self.limit <= CHUNK_BYTES_SMALL

    @property
    def is_shared(self) -> bool:
        """Whether it is a large one that a copy of its log reads, and that can't be written to."""
        return self._block is None and not self.is_small

    def extend(self, end: int) -> bool:
        """Have it filled up to `end`; False if there is no room for that."""
        if self._block is None or end > self._block.capacity:
            return False
        self.limit = self._block.extend(end)
        return True

    def full_as_it_is(self) -> _Chunk:
        """The same bytes, for another segment to read: whatever comes behind them is written elsewhere."""
        shared = object.__new__(_Chunk)
        shared.start, shared.memory, shared.view, shared._block = self.start, self.memory, self.view, None
        shared.limit = shared.used = self.used
        return shared


class MemorySegment(Segment):
    """A segment with its bytes in memory."""

    __slots__ = (
        "_chunks",
        "_indexed",
        "_indexed_after",
        "_largest_timestamps",
        "_last_offsets",
        "_positions",
        "_starts",
    )

    def __init__(self, base_offset: int, created_ms: int) -> None:
        super().__init__(base_offset, created_ms)
        self._chunks: list[_Chunk] = []
        self._starts: list[int] = []
        self._last_offsets = array("I")
        self._positions = array("I")
        self._largest_timestamps = array("q")
        #: The numbers of the batches that Kafka's index has; the next is the first that begins beyond this position.
        self._indexed = array("I")
        self._indexed_after = INDEX_INTERVAL_BYTES

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int, wall_ms: int, head: bytes = b"") -> None:
        """Copy a batch to the end. Raises `StorageError`, and changes nothing, when there is no memory left."""
        size = len(batch)
        chunk = self._chunks[-1] if self._chunks else None
        if chunk is None or chunk.used + size > chunk.limit:
            try:
                chunk = self._make_room(chunk, size)
            except (OSError, MemoryError) as error:
                raise StorageError(f"the machine has no memory for {size} more bytes: {error}") from error
        start = chunk.used
        chunk.used = end = start + size
        chunk.memory[start:end] = batch
        if head:
            chunk.memory[start : start + len(head)] = head
        position = self.size_bytes
        if position > self._indexed_after:
            self._indexed.append(len(self._positions))
            self._indexed_after = position + INDEX_INTERVAL_BYTES
        self._last_offsets.append(last_offset - self.base_offset)
        self._positions.append(position)
        self.count(last_offset, max_timestamp, size, wall_ms)
        self._largest_timestamps.append(self.max_timestamp)

    def slice(self, position: int, size: int) -> Buffer:
        if size == 0:
            return b""
        number = bisect_right(self._starts, position) - 1
        chunk = self._chunks[number]
        start = position - chunk.start
        if start + size <= chunk.used:
            return chunk.view[start : start + size]
        parts = [chunk.view[start : chunk.used]]
        missing = size - len(parts[0])
        for following in self._chunks[number + 1 :]:
            parts.append(following.view[: min(missing, following.used)])
            missing -= len(parts[-1])
        return b"".join(parts)

    def find(self, offset: int) -> tuple[int, int]:
        number = bisect_left(self._last_offsets, offset - self.base_offset) if offset > self.base_offset else 0
        position = self._position_of(number)
        return position, self._position_of(number + 1) - position

    def find_timestamp(self, timestamp: int) -> int:
        return self._position_of(bisect_left(self._largest_timestamps, timestamp))

    def indexed_offset_from(self, position: int) -> int | None:
        number = bisect_left(self._indexed, position, key=self._positions.__getitem__)
        return None if number == len(self._indexed) else self.base_offset + self._last_offsets[self._indexed[number]]

    def batches(self, position: int = 0) -> Iterator[Buffer]:
        number = bisect_left(self._positions, position)
        while number < len(self._positions):
            position = self._positions[number]
            number += 1
            yield self.slice(position, self._position_of(number) - position)

    def _position_of(self, number: int) -> int:
        """Where batch `number` begins; the segment's size for the number after the last."""
        return self._positions[number] if number < len(self._positions) else self.size_bytes

    def _make_room(self, chunk: _Chunk | None, size: int) -> _Chunk:
        """The last chunk made larger, or a new one, with room for `size` more bytes."""
        if chunk is not None and chunk.extend(chunk.used + size):
            return chunk
        start = 0 if chunk is None else chunk.start
        needed = size
        if chunk is not None and chunk.is_small:
            needed += chunk.used
        elif chunk is not None:
            start += chunk.used
            if not chunk.is_shared:
                return self._add(_Chunk(start, max(CHUNK_BYTES, size)))
        doubled = max(CHUNK_BYTES_FIRST, 1 << (needed - 1).bit_length())
        capacity = doubled if doubled <= CHUNK_BYTES_SMALL else max(CHUNK_BYTES, needed)
        larger = _Chunk(start, capacity, begins_log=True)
        if chunk is not None and chunk.is_small:
            larger.memory[: chunk.used] = chunk.view[: chunk.used]
            larger.used = chunk.used
            self._chunks.pop()
            self._starts.pop()
        return self._add(larger)

    def copy(self) -> MemorySegment:
        """A segment that is what this one is now, and shares its bytes: both go on, each for itself."""
        copied = MemorySegment.__new__(MemorySegment)
        for name in Segment.__slots__:
            setattr(copied, name, getattr(self, name))
        copied.aborted = self.aborted.copy()
        copied._chunks = [chunk.full_as_it_is() for chunk in self._chunks]
        copied._starts = list(self._starts)
        copied._last_offsets = self._last_offsets[:]
        copied._positions = self._positions[:]
        copied._largest_timestamps = self._largest_timestamps[:]
        copied._indexed = self._indexed[:]
        copied._indexed_after = self._indexed_after
        return copied

    def _add(self, chunk: _Chunk) -> _Chunk:
        self._chunks.append(chunk)
        self._starts.append(chunk.start)
        return chunk


class MemoryReplacement:
    """A segment in the making. Fills `contract.Replacement`.

    It is not on the account until `commit`, when it is never larger than what it replaces: a full account must not
    keep a log from getting smaller.
    """

    __slots__ = ("_all", "_log_bytes", "_old", "_segment")

    def __init__(self, segments: list[MemorySegment], old: Sequence[Segment], log_bytes: LogBytes) -> None:
        self._all = segments
        self._old = list(old)
        self._log_bytes = log_bytes
        self._segment = MemorySegment(old[0].base_offset, old[0].created_ms)

    @property
    def size_bytes(self) -> int:
        return self._segment.size_bytes

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        self._segment.append(batch, last_offset, max_timestamp, self._old[-1].modified_ms)

    def commit(self, aborted: Iterable[AbortedTransaction] = ()) -> Segment:
        first = find_run(self._all, self._old)
        segment = self._segment
        segment.aborted = list(aborted)
        segment.modified_ms = self._old[-1].modified_ms
        self._log_bytes.give_back(sum(old.size_bytes for old in self._old) - segment.size_bytes)
        self._all[first : first + len(self._old)] = [segment]
        return segment

    def abandon(self) -> None:
        """Nothing to do: its memory goes with it."""


@dataclass(frozen=True, slots=True)
class FrozenLog:
    """A log in memory as it was at one moment, for any number of logs to begin with."""

    segments: tuple[MemorySegment, ...]
    """Copies without a writer."""
    state: LogState
    producers: tuple[ProducerEntry, ...]
    """As they were after the last batch."""
    leader_epoch: int
    cleaned_offset: int


class MemoryStorage:
    """A partition's batches in memory, on one account with all others. Fills `contract.LogStorage`."""

    __slots__ = ("_full", "_log_bytes", "_producers", "_state", "segments")

    #: Memory does not fail once it is there.
    is_offline: Final = False
    is_replacing: Final = False

    def __init__(self, log_bytes: LogBytes, wall_ms: int, full: Callable[[str, str], object] | None = None) -> None:
        """`full`: called with what is full, and a sentence, for each batch that there is no room for."""
        self.segments = [MemorySegment(0, wall_ms)]
        self._full = full
        self._log_bytes = log_bytes
        self._state: LogState | None = None
        self._producers: tuple[int, Sequence[ProducerEntry]] | None = None

    def begin_with(self, frozen: FrozenLog) -> None:
        """Hold what another log held. Raises `StorageError` if there is no room for it on the account."""
        size = sum(segment.size_bytes for segment in frozen.segments)
        if not self._log_bytes.take(size, frozen.segments[-1].modified_ms):
            raise StorageError(f"{size} more bytes don't fit into ottla.log.bytes.max")
        self.segments = [segment.copy() for segment in frozen.segments]
        self._state = frozen.state
        self._producers = frozen.segments[-1].next_offset, [entry.copy() for entry in frozen.producers]

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int, wall_ms: int, head: bytes = b"") -> None:
        size = len(batch)
        account = self._log_bytes
        if not account.take(size, wall_ms):
            raise self._refused(
                BYTES_MAX_SETTING,
                f"the logs hold {account.bytes_held} of {account.bytes_max} bytes and {size} more don't fit; raise "
                f"{BYTES_MAX_SETTING}, lower retention.ms or retention.bytes of your topics, or delete some",
            )
        try:
            self.segments[-1].append(batch, last_offset, max_timestamp, wall_ms, head)
        except StorageError as error:
            account.give_back(size)
            raise self._refused("memory", str(error)) from error

    def _refused(self, limit: str, reason: str) -> StorageError:
        if self._full is not None:
            self._full(limit, reason)
        return StorageError(reason)

    def roll(self, base_offset: int, wall_ms: int) -> None:
        assert base_offset > self.segments[-1].base_offset
        self.segments.append(MemorySegment(base_offset, wall_ms))

    def remove_oldest(self, count: int) -> None:
        assert 0 <= count < len(self.segments)
        self._log_bytes.give_back(sum(segment.size_bytes for segment in self.segments[:count]))
        del self.segments[:count]

    def replace(self, segments: Sequence[Segment]) -> MemoryReplacement:
        return MemoryReplacement(self.segments, segments, self._log_bytes)

    def save_state(self, state: LogState) -> None:
        self._state = state

    def load_state(self) -> LogState | None:
        return self._state

    def save_producers(self, offset: int, producers: Iterable[ProducerEntry]) -> None:
        """Nothing to do: the producers are read from the batches again."""

    def load_producers(self) -> tuple[int, Sequence[ProducerEntry]] | None:
        producers, self._producers = self._producers, None
        return producers

    def flush(self) -> None:
        """Nothing to do: memory does not survive the machine."""

    def close(self) -> None:
        """Nothing to let go of: the log is readable as long as it is referred to."""

    def delete(self) -> None:
        self._log_bytes.give_back(sum(segment.size_bytes for segment in self.segments))
        self.segments = [MemorySegment(self.segments[-1].next_offset, 0)]
        self._state = None

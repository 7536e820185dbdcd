"""What is special about logs in memory: what they cost, and that nothing is copied on the way out."""

from __future__ import annotations

import gc
import weakref
from array import array
from typing import Any, Final

import pytest

from ottla.log.storage import memory
from ottla.log.storage.arena import Arena, Block
from ottla.log.storage.contract import StorageError
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import (
    CHUNK_BYTES,
    CHUNK_BYTES_FIRST,
    CHUNK_BYTES_SMALL,
    MemoryStorage,
)

KIB: Final = 1024
MIB: Final = 1024 * KIB


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The capacity of each piece of memory that is asked for."""
    asked: list[int] = []

    class Noted(memory._Chunk):
        def __init__(self, start: int, capacity: int, *, begins_log: bool = False) -> None:
            super().__init__(start, capacity, begins_log=begins_log)
            asked.append(capacity)

    monkeypatch.setattr(memory, "_Chunk", Noted)
    return asked


def new_storage(log_bytes: LogBytes | None = None) -> MemoryStorage:
    return MemoryStorage(log_bytes or LogBytes(1 << 30), 0)


def append(storage: MemoryStorage, size: int, times: int = 1) -> None:
    for _ in range(times):
        offset = storage.segments[-1].next_offset
        storage.append(bytes([offset % 251]) * size, offset, 0, 0)


def test_an_empty_log_holds_no_memory(blocks: list[int]) -> None:
    """Topics with thousands of partitions cost nothing until they are used."""
    storage = new_storage()
    storage.roll(1, 0)
    assert blocks == []


def test_a_small_log_grows_by_doubling(blocks: list[int]) -> None:
    """From a kilobyte on, so that a copy is made seldom; then chunks have their full size, and nothing is copied."""
    storage = new_storage()
    append(storage, 1000, 700)
    doubling = [CHUNK_BYTES_FIRST << step for step in range(10)]
    assert blocks == [*doubling, CHUNK_BYTES]
    assert doubling[-1] == CHUNK_BYTES_SMALL
    assert isinstance(storage.segments[0].slice(0, 700_000), memoryview)
    append(storage, MIB, 130)
    assert blocks == [*doubling, CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES]


def test_a_large_batch_gets_the_room_it_needs(blocks: list[int]) -> None:
    """Alone or after others, in one piece."""
    storage = new_storage()
    append(storage, CHUNK_BYTES + 5)
    append(storage, 100)
    append(storage, CHUNK_BYTES + 7)
    assert blocks == [CHUNK_BYTES + 5, CHUNK_BYTES, CHUNK_BYTES + 7]


def test_each_segment_begins_small_again(blocks: list[int]) -> None:
    """Its memory is its own."""
    storage = new_storage()
    append(storage, 600 * KIB)
    storage.roll(1, 0)
    append(storage, 100)
    assert blocks == [CHUNK_BYTES, CHUNK_BYTES_FIRST]


def test_behind_what_is_shared_with_a_snapshot_a_log_begins_small_again(blocks: list[int]) -> None:
    """Snapshot, restore, go on, again and again: no block of 64 MiB each time for a few bytes."""
    storage = new_storage()
    append(storage, 600 * KIB)
    segment = storage.segments[0].copy()
    for offset in (1, 2):
        segment.append(b"b" * 700, offset, 0, 0)
        segment = segment.copy()
    assert blocks == [CHUNK_BYTES, CHUNK_BYTES_FIRST, 2 * CHUNK_BYTES_FIRST]
    segment.append(b"c" * CHUNK_BYTES_SMALL, 3, 0, 0)
    segment.append(b"d" * 100, 4, 0, 0)
    assert blocks[3:] == [CHUNK_BYTES]
    assert bytes(segment.slice(600 * KIB - 1, 3)) == b"\0bb"
    assert bytes(segment.slice(segment.size_bytes - 101, 2)) == b"cd"


def test_a_range_is_a_view_unless_it_spans_two_chunks() -> None:
    """No copy: the view is of the very memory the batches were written to, and can't be written through."""
    storage = new_storage()
    append(storage, 16 * MIB, 5)
    segment = storage.segments[0]
    first, last, across = segment.slice(0, MIB), segment.slice(63 * MIB, MIB), segment.slice(63 * MIB, 2 * MIB)
    assert isinstance(first, memoryview)
    assert isinstance(last, memoryview)
    assert first.obj is last.obj
    assert first.readonly
    assert isinstance(across, bytes)
    assert across == b"\3" * MIB + b"\4" * MIB
    following = segment.slice(64 * MIB, 1)
    assert isinstance(following, memoryview)
    assert following.obj is not first.obj


def test_memory_goes_with_the_last_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removing a segment lets its chunks go, but for those a slow client still reads from."""
    monkeypatch.setattr(memory, "ARENA", Arena(None))
    storage = new_storage()
    append(storage, MIB, 2)
    storage.roll(2, 0)
    taken = storage.segments[0].slice(0, 100)
    assert isinstance(taken, memoryview)
    chunk = weakref.ref(taken.obj)
    storage.remove_oldest(1)
    gc.collect()
    assert chunk() is not None
    assert bytes(taken) == b"\0" * 100
    del taken
    gc.collect()
    assert chunk() is None


def test_a_machine_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch is refused, the account and the log are as before, and the next may succeed."""
    log_bytes = LogBytes(1 << 30)
    storage = new_storage(log_bytes)
    append(storage, 400 * KIB)

    def refuse(self: Arena, capacity: int, *, begins_log: bool) -> Block:
        raise OSError(12, "Cannot allocate memory")

    with monkeypatch.context() as poor:
        poor.setattr(Arena, "new_block", refuse)
        with pytest.raises(StorageError, match="no memory"):
            append(storage, 300 * KIB)
    assert (storage.segments[0].size_bytes, storage.segments[0].next_offset) == (400 * KIB, 1)
    assert log_bytes.bytes_held == 400 * KIB
    append(storage, 300 * KIB)
    assert bytes(storage.segments[0].slice(400 * KIB - 1, 2)) == b"\0\1"


def test_where_kafkas_index_has_an_entry_is_known_without_a_walk() -> None:
    """A fetch that leaves out aborted transactions asks it, and a segment may have hundreds of thousands of entries."""
    looks = 0

    class Counted(array):  # type: ignore[type-arg]
        def __getitem__(self, place: Any) -> Any:
            nonlocal looks
            looks += 1
            return super().__getitem__(place)

    storage = new_storage()
    for offset in range(3_000):
        storage.append(bytes(5_000), offset, 0, 0)
    (segment,) = storage.segments
    segment._positions = Counted("I", segment._positions)
    assert segment.indexed_offset_from(2_900 * 5_000) == 2_900
    assert looks < 20

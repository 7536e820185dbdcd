"""The memory of large logs: made before a busy one writes to it, used again, and at rest no more than is written."""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

import pytest

from ottla.log.storage import arena as arena_module
from ottla.log.storage.arena import (
    AHEAD_BYTES,
    ARENA,
    IDLE_SECONDS,
    PLAIN_BYTES,
    SPARE_BYTES_MAX,
    STEP_BYTES,
    Arena,
    Block,
)
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import CHUNK_BYTES, MemoryStorage

MIB: Final = 1024 * 1024
SECONDS_MAX: Final = 30.0


class Pages:
    """Makes none, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int]] = []
        self.fails: Exception | None = None
        self._asked = threading.Semaphore(0)

    def make(self, memory: mmap.mmap, start: int, end: int) -> None:
        self.made.append((start // MIB, end // MIB))
        self._asked.release()
        if self.fails is not None:
            raise self.fails

    def until_asked(self, times: int) -> None:
        for _ in range(times):
            assert self._asked.acquire(timeout=SECONDS_MAX)


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def arena(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arena]:
    """One whose thread has ended when the test has."""
    monkeypatch.setattr(arena_module, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(arena_module, "BUSY_SECONDS", 3600.0)
    arena = Arena(pages.make)
    yield arena
    until_at_rest(arena)


def until_at_rest(arena: Arena) -> None:
    thread = arena._thread
    if thread is not None:
        thread.join(SECONDS_MAX)
    assert arena.is_at_rest


def stay_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_module, "IDLE_SECONDS", 3600.0)


def rest(arena: Arena, block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the thread find that nobody asks any more."""
    monkeypatch.setattr(arena_module, "IDLE_SECONDS", 0.0)
    block.extend(block.limit + 1)
    until_at_rest(arena)


def new_block(arena: Arena, *, begins_log: bool = True) -> Block:
    return arena.new_block(CHUNK_BYTES, begins_log=begins_log)


def resident_bytes(memory: mmap.mmap) -> int:
    """How much of it has pages."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    pages = ctypes.create_string_buffer(len(memory) // mmap.PAGESIZE)
    libc = ctypes.CDLL(None)
    assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(memory)), pages) == 0
    return sum(page & 1 for page in pages.raw) * mmap.PAGESIZE


def test_a_busy_log_finds_its_pages_made(arena: Arena, pages: Pages) -> None:
    """Each step further has the pages made that come into reach with it, and none twice."""
    block = new_block(arena)
    assert block.limit == PLAIN_BYTES
    assert [block.extend(size * MIB) // MIB for size in (5, 7, 12)] == [6, 8, 12]
    pages.until_asked(3)
    assert pages.made == [(6, 14), (14, 16), (16, 20)]


def test_a_slow_log_makes_its_own(arena: Arena, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_module, "BUSY_SECONDS", 0.0)
    block = new_block(arena)
    assert block.extend(PLAIN_BYTES + 1) == PLAIN_BYTES + STEP_BYTES
    assert arena.is_at_rest
    assert pages.made == []


def test_where_pages_cannot_be_made_there_is_no_thread() -> None:
    arena = Arena(None)
    block = new_block(arena)
    assert block.extend(PLAIN_BYTES + 1) == PLAIN_BYTES + STEP_BYTES
    assert arena.is_at_rest


@pytest.mark.parametrize("fails", [OSError(22, "Invalid argument"), ImportError("No module named '_ctypes'")])
def test_a_system_that_refuses_is_asked_once(arena: Arena, pages: Pages, fails: Exception) -> None:
    """The log goes on without."""
    pages.fails = fails
    block = new_block(arena)
    block.extend(5 * MIB)
    pages.until_asked(1)
    until_at_rest(arena)
    assert block.extend(9 * MIB) == 10 * MIB
    assert arena.is_at_rest
    assert len(pages.made) == 1


def test_what_is_made_and_not_written_is_bounded(arena: Arena, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    """For all logs together; those who get none write all the same."""
    stay_busy(monkeypatch)
    count = SPARE_BYTES_MAX // AHEAD_BYTES
    blocks = [new_block(arena) for _ in range(count + 3)]
    assert [block.extend(5 * MIB) for block in blocks] == [6 * MIB] * (count + 3)
    pages.until_asked(count)
    assert len(pages.made) == count
    assert sum(block.made - block.limit for block in blocks) == SPARE_BYTES_MAX
    rest(arena, blocks[0], monkeypatch)


def test_at_rest_nothing_is_made_that_is_not_written(arena: Arena, pages: Pages) -> None:
    block = new_block(arena)
    block.extend(5 * MIB)
    pages.until_asked(1)
    until_at_rest(arena)
    assert (block.limit, block.made) == (6 * MIB, 6 * MIB)
    assert block.extend(7 * MIB) == 8 * MIB
    pages.until_asked(1)
    assert pages.made[-1] == (8, 16)


def test_a_block_is_used_again(arena: Arena, pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the pages it has: nothing is to be made before the next log has come that far."""
    stay_busy(monkeypatch)
    block = new_block(arena)
    block.extend(20 * MIB)
    memory = block.memory
    del block
    again = new_block(arena)
    assert again.memory is memory
    assert again.made == 28 * MIB
    again.extend(18 * MIB)
    again.extend(21 * MIB)
    pages.until_asked(2)
    assert pages.made == [(20, 28), (28, 30)]
    rest(arena, again, monkeypatch)
    assert again.made == again.limit == 24 * MIB


def test_a_block_somebody_reads_is_nobody_elses(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the last view is gone."""
    stay_busy(monkeypatch)
    block = new_block(arena)
    block.extend(5 * MIB)
    memory = block.memory
    view = memoryview(memory)[100:200]
    del block
    other = new_block(arena)
    assert other.memory is not memory
    del view
    assert new_block(arena).memory is memory
    rest(arena, other, monkeypatch)


def test_nothing_is_kept_at_rest(arena: Arena) -> None:
    """What a log gives back while none is busy goes to the system at once."""
    block = new_block(arena)
    del block
    assert not arena._kept


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept for the next log", "not kept"])
def test_pages_made_ahead_of_a_block_that_is_only_read_go_back(
    arena: Arena, pages: Pages, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    """A snapshot reads what was written for as long as it likes. What lies behind that nobody will ever write."""
    freed: list[tuple[int, int]] = []

    class Memory(mmap.mmap):
        def madvise(self, option: int, start: int = 0, length: int = 0) -> None:
            if option == mmap.MADV_DONTNEED:
                freed.append((start // MIB, (start + length) // MIB))

    monkeypatch.setattr(mmap, "mmap", Memory)
    stay_busy(monkeypatch)
    busy, block = new_block(arena), new_block(arena)
    block.extend(5 * MIB)
    pages.until_asked(1)
    snapshot = memoryview(block.memory)
    with monkeypatch.context() as full:
        if not is_kept:
            full.setattr(arena_module, "SPARE_BYTES_MAX", 0)
        del block
    assert bool(arena._kept) is is_kept
    rest(arena, busy, monkeypatch)
    assert freed[0] == (6, 14)
    snapshot.release()


def test_what_is_given_back_while_the_thread_ends_is_not_kept(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a thread that runs beside it."""
    stay_busy(monkeypatch)
    others: list[Block] = []

    class Memory(mmap.mmap):
        def madvise(self, *arguments: int) -> None:
            others.clear()

    monkeypatch.setattr(mmap, "mmap", Memory)
    block = new_block(arena)
    others.append(new_block(arena))
    rest(arena, block, monkeypatch)
    assert not others
    assert not arena._kept


def test_memory_that_the_system_does_not_take_back_stays(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a process has locked all of its memory; the thread ends all the same."""

    class Memory(mmap.mmap):
        def madvise(self, *arguments: int) -> None:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Memory)
    rest(arena, new_block(arena), monkeypatch)


def test_what_is_kept_may_go_while_somebody_looks_for_some_of_it(arena: Arena) -> None:
    """Whoever gives back takes no lock, and may find that all are at rest by now."""

    class Vanishing(deque[Any]):
        def __len__(self) -> int:
            return 1

    block = new_block(arena)
    arena._kept = Vanishing()
    assert new_block(arena).memory is not block.memory


def test_a_block_without_pages_counts_for_none(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it begins another log."""
    stay_busy(monkeypatch)
    busy, later = new_block(arena), new_block(arena, begins_log=False)
    busy.extend(5 * MIB)
    memory = later.memory
    del later
    spare_bytes = arena._spare_bytes()
    again = new_block(arena)
    assert again.memory is memory
    assert arena._spare_bytes() == spare_bytes
    rest(arena, busy, monkeypatch)


def test_a_log_in_memory_gives_back_and_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """By retention and by deletion; what a slow client still reads of it stays as it is."""
    stay_busy(monkeypatch)
    arena = Arena(lambda _memory, _start, _end: None)
    monkeypatch.setattr("ottla.log.storage.memory.ARENA", arena)
    storage = MemoryStorage(LogBytes(1 << 30), 0)
    for offset in range(8):
        storage.append(b"a" * MIB, offset, 0, 0)
    read = storage.segments[0].slice(0, MIB)
    storage.roll(8, 0)
    storage.remove_oldest(1)
    assert len(arena._kept) == 1
    for offset in range(8, 16):
        storage.append(b"b" * MIB, offset, 0, 0)
    assert bytes(read) == b"a" * MIB
    del read
    kept = arena._kept[0][0]
    other = MemoryStorage(LogBytes(1 << 30), 0)
    other.append(b"c" * MIB, 0, 0, 0)
    assert other.segments[0]._chunks[0].memory is kept
    rest(arena, new_block(arena), monkeypatch)


@pytest.mark.skipif(ARENA._make_pages is None, reason="pages can't be made here")
def test_pages_are_there_before_they_are_written_and_gone_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written there meanwhile is left as it is."""
    stay_busy(monkeypatch)
    monkeypatch.setattr(arena_module, "BUSY_SECONDS", 3600.0)
    is_made = threading.Semaphore(0)
    make_pages = ARENA._make_pages
    assert make_pages is not None

    def make(memory: mmap.mmap, start: int, end: int) -> None:
        memory[start + 7] = 77
        make_pages(memory, start, end)
        is_made.release()

    arena = Arena(make)
    block = new_block(arena)
    block.extend(5 * MIB)
    assert is_made.acquire(timeout=SECONDS_MAX)
    assert resident_bytes(block.memory) == AHEAD_BYTES
    assert block.memory[6 * MIB + 7] == 77
    rest(arena, block, monkeypatch)
    assert block.limit == 8 * MIB
    assert resident_bytes(block.memory) == 2 * MIB
    assert block.memory[6 * MIB + 7] == 77


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="there are no huge pages")
@pytest.mark.parametrize("begins_log", [True, False])
def test_a_log_begins_without_huge_pages(monkeypatch: pytest.MonkeyPatch, begins_log: bool) -> None:
    """What is there of many small logs takes no more memory than it has."""
    advice: list[tuple[int, int, int]] = []

    class Memory(mmap.mmap):
        def madvise(self, option: int, start: int = 0, length: int = 0) -> None:
            advice.append((option, start, length))

    monkeypatch.setattr(mmap, "mmap", Memory)
    new_block(Arena(None), begins_log=begins_log)
    plain = [(mmap.MADV_NOHUGEPAGE, 0, PLAIN_BYTES), (mmap.MADV_HUGEPAGE, PLAIN_BYTES, CHUNK_BYTES - PLAIN_BYTES)]
    assert advice == (plain if begins_log else [(mmap.MADV_HUGEPAGE, 0, CHUNK_BYTES)])


def test_the_thread_waits_longer_than_a_busy_log_takes_for_a_step() -> None:
    assert IDLE_SECONDS > arena_module.BUSY_SECONDS

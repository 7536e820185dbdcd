"""The memory that large logs in memory are made of: blocks of address space, and pages made before they are written to.

The system gives a process pages when they are first written to, and clears each of them: for a log that is written fast
that can be half of what a batch costs. Two things spare the event loop that:

    ahead    A thread makes the pages that a busy log comes to next: `AHEAD_BYTES` of them, 2 MiB further with each
             2 MiB written. Linux can do that without touching what is there (MADV_POPULATE_WRITE).
    again    A block that a log gives back, by retention, deletion or reset, has its pages. The next log gets it.

                      ┌ written ─────────────┬ may be ─┬ made ahead ──────┬ address space ─────┐
    block of 64 MiB   └──────────────────────┴─────────┴──────────────────┴────────────────────┘
                                             used      limit              made

A writer asks before it writes beyond `limit`, and only the writer uses the memory before it. So the memory behind it
can be given back to the system at any time, under the lock that asking takes. What is made and not written is bounded,
for all logs together, by `SPARE_BYTES_MAX`, and none of it is left at rest: when no writer has asked for
`IDLE_SECONDS`, the thread gives all of it back, and ends. Where the system can't make pages ahead there is no thread,
and a log gets them as it writes.

This is the process's memory, so there is one arena for all brokers in it, as there is one malloc.
"""

from __future__ import annotations

import mmap
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, TypeAlias
from weakref import ref

_MIB: Final = 1024 * 1024
#: How far a writer goes without asking: a huge page, so a writer gets it as a whole.
STEP_BYTES: Final = 2 * _MIB
#: The beginning of a log has no huge pages, or a partition with half a megabyte would take two.
PLAIN_BYTES: Final = 4 * _MIB
AHEAD_BYTES: Final = 8 * _MIB
SPARE_BYTES_MAX: Final = 128 * _MIB
#: A log is busy that writes a step in this time.
BUSY_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 5.0

#: Makes the pages of (block, first byte, byte after the last). Raises OSError.
MakePages: TypeAlias = Callable[[mmap.mmap, int, int], None]


class _Range(NamedTuple):
    """Where pages are to be made."""

    memory: mmap.mmap
    start: int
    end: int


class _ReturnedBlock(NamedTuple):
    """Memory that was given back: how far it was written to, and how far it has pages."""

    memory: mmap.mmap
    limit: int
    made: int


class Block:
    """Memory of one chunk of a log. Without a reference to it, it goes back to the arena."""

    __slots__ = ("__weakref__", "_arena", "_asked_at", "capacity", "limit", "made", "memory")

    def __init__(self, arena: Arena, memory: mmap.mmap, limit: int, made: int) -> None:
        """`limit`: how far it may be written to without asking. `made`: how far there are pages, as far as we know."""
        self._arena = arena
        self._asked_at = time.monotonic()
        self.memory = memory
        self.capacity = len(memory)
        self.limit = limit
        self.made = made

    def extend(self, end: int) -> int:
        """The writer wants to go on up to `end`; returns how far it may go now."""
        now = time.monotonic()
        is_busy = now - self._asked_at < BUSY_SECONDS
        self._asked_at = now
        limit = min(-(-end // STEP_BYTES) * STEP_BYTES, self.capacity)
        self._arena.extend(self, limit, is_busy=is_busy)
        return limit

    def __del__(self) -> None:
        self._arena.give_back(self)


class Arena:
    """Gives out blocks, and has the pages of busy ones made ahead."""

    def __init__(self, make_pages: MakePages | None = None) -> None:
        """`make_pages`: None where that can't be done."""
        self._make_pages = make_pages
        #: Whether the system has not said that it can't.
        self._is_possible = make_pages is not None
        #: Held while it changes how far a block may be written to, or has pages.
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted: queue.SimpleQueue[_Range] = queue.SimpleQueue()
        #: Blocks that may have pages behind their limit, by `id`.
        self._ahead: dict[int, ref[Block]] = {}
        #: Blocks that were given back. They may still be read.
        self._kept: deque[_ReturnedBlock] = deque()

    def new_block(self, capacity: int, *, begins_log: bool) -> Block:
        """A block with room for so many bytes. Raises OSError. `begins_log`: the log is small still."""
        plain_bytes = min(PLAIN_BYTES, capacity) if begins_log else 0
        if self._kept and (again := self._kept_one(capacity, plain_bytes)) is not None:
            return again
        memory = mmap.mmap(-1, capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        _advise(memory, plain_bytes)
        return Block(self, memory, plain_bytes, plain_bytes)

    def _kept_one(self, capacity: int, limit: int) -> Block | None:
        """A block that was given back, and has no readers any more."""
        with self._lock, suppress(IndexError):  # of those that were kept when this began, `give_back` may take some
            for _ in range(len(self._kept)):
                kept = self._kept.popleft()
                if len(kept.memory) == capacity and is_let_go(kept.memory):
                    block = Block(self, kept.memory, limit, max(limit, kept.made))
                    self._ahead[id(block)] = ref(block)
                    return block
                self._kept.append(kept)
        return None

    def extend(self, block: Block, limit: int, *, is_busy: bool) -> None:
        """The block may be written to up to `limit`; if its log is busy, the pages behind that are made soon."""
        with self._lock:
            block.limit = limit
            block.made = max(block.made, limit)
            if not is_busy or not self._is_possible:
                return
            start, end = block.made, min(limit + AHEAD_BYTES, block.capacity)
            if start < end and self._spare_bytes() + end - start <= SPARE_BYTES_MAX and self._has_thread():
                block.made = end
                self._ahead[id(block)] = ref(block)
                self._wanted.put(_Range(block.memory, start, end))

    def give_back(self, block: Block) -> None:
        """The block has no writer any more. Its memory is kept for the next log, while any is busy; else the pages that
        were made ahead go back to the system: a snapshot may read the memory for long. Takes no lock, for it may be
        called from anywhere.
        """
        self._ahead.pop(id(block), None)
        kept = _ReturnedBlock(block.memory, block.limit, block.made)
        if self._thread is not None and self._spare_bytes() + block.made <= SPARE_BYTES_MAX:
            self._kept.append(kept)
            if self.is_at_rest:  # by now
                self._drop_kept()
        else:
            _free_pages(*kept)

    @property
    def is_at_rest(self) -> bool:
        """Whether there are no unwritten pages, and no thread that makes some."""
        return self._thread is None

    def _spare_bytes(self) -> int:
        kept = sum(kept.made for kept in list(self._kept))
        return kept + sum(block.made - block.limit for block in self._blocks_ahead())

    def _blocks_ahead(self) -> list[Block]:
        return [block for found in list(self._ahead.values()) if (block := found()) is not None]

    def _has_writer(self, memory: mmap.mmap) -> bool:
        """Whether a log writes to this memory, or the next one will."""
        memories = [*(block.memory for block in self._blocks_ahead()), *(kept.memory for kept in list(self._kept))]
        return any(one is memory for one in memories)

    def _has_thread(self) -> bool:
        """Have the thread run, with the lock held. The machine may have none left."""
        if self._thread is not None and self._thread.is_alive():
            return True
        self._thread = threading.Thread(target=self._run, name="ottla-pages", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None
        return self._thread is not None

    def _rest(self) -> None:
        """Give all unwritten pages back to the system. With the lock held."""
        self._thread = None  # first, so that what others give back from now on is not kept
        self._drop_kept()
        for block in self._blocks_ahead():
            _free_pages(block.memory, block.limit, block.made)
            block.made = block.limit
        self._ahead.clear()

    def _drop_kept(self) -> None:
        """Keep no memory for the next log. What a snapshot reads of it stays until the snapshot goes."""
        with suppress(IndexError):
            while True:
                _free_pages(*self._kept.popleft())

    def _run(self) -> None:
        assert self._make_pages is not None, "it is asked for where pages can be made"
        while True:
            try:
                wanted = self._wanted.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if not self._wanted.empty():
                        continue
                    self._rest()
                return
            if not self._has_writer(wanted.memory):
                continue
            try:
                self._make_pages(*wanted)
            except (OSError, ImportError, AttributeError):
                # There is no memory left, or this system or this Python can't: the writer finds out for itself.
                self._is_possible = False
            if not self._has_writer(wanted.memory):  # it went meanwhile
                _free_pages(*wanted)
            del wanted


def _free_pages(memory: mmap.mmap, start: int, end: int) -> None:
    """Give pages behind what was written back to the system."""
    if start < end:
        with suppress(OSError, ValueError):  # a process may have locked all of its memory
            memory.madvise(mmap.MADV_DONTNEED, start, end - start)


def is_let_go(memory: mmap.mmap) -> bool:
    """Whether there is no view of it: memory with a view can't be resized."""
    try:
        memory.resize(len(memory))
    except BufferError:
        return False
    return True


def _advise(memory: mmap.mmap, plain_bytes: int) -> None:
    """Have huge pages where there are any, but for the first bytes."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return
    with suppress(OSError):  # a system may be built without huge pages
        if plain_bytes:
            memory.madvise(mmap.MADV_NOHUGEPAGE, 0, plain_bytes)
        if len(memory) > plain_bytes:
            memory.madvise(mmap.MADV_HUGEPAGE, plain_bytes, len(memory) - plain_bytes)


def _populate(memory: mmap.mmap, start: int, end: int) -> None:
    """Make pages, and leave what is in them. `mmap.madvise` would hold the interpreter up meanwhile."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + start
    populate_write = 23
    if libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(end - start), populate_write):
        raise OSError(ctypes.get_errno(), "madvise")


ARENA: Final = Arena(_populate if sys.platform == "linux" else None)

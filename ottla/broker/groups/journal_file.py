"""The file of the journal: takes lines from the event loop and writes them from a thread, so no disk stops a group.

Lines are appended whole and in order. What waits to be written is bounded. When the file can't be written, or the disk
is too slow for the bound, that is told once and the broker goes on without a journal: after a gap, the rest can't be
trusted.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

from ottla.broker.groups.journal import Journal
from ottla.cluster.address import MachineRefused
from ottla.events.kind import Kind
from ottla.events.kinds.groups import NOTED
from ottla.events.setbacks import reason_of

if TYPE_CHECKING:
    from ottla.events.stream import Stream

WAITING_BYTES_MAX: Final = 64 << 20
#: How long the last lines may take to be written when the broker stops.
CLOSE_SECONDS_MAX: Final = 5.0


@contextmanager
def keeping_journal(path: Path, events: Stream) -> Iterator[None]:
    """Keep a journal of what happens in groups in this file. Raises `MachineRefused` if it can't be opened."""
    try:
        file = JournalFile(path, events)
    except OSError as error:
        raise MachineRefused(
            f"--journal: cannot write {path}: {error.strerror}; name a file that can be made or appended to"
        ) from None
    loop = asyncio.get_running_loop()
    journal = Journal(file.write, lambda flush: loop.call_soon(file.attempt, flush))
    stop_reading = events.read(journal, NOTED)
    try:
        yield
    finally:
        stop_reading()
        file.attempt(journal.flush)
        file.close()


class JournalFile:
    """A file that lines are appended to."""

    def __init__(self, path: Path, events: Stream) -> None:
        """Open the file, or make it for its owner alone. Raises OSError."""
        self._path = path
        self._events = events
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        #: Each is counted on one side only, so that neither needs a lock.
        self._taken_bytes = 0
        self._written_bytes = 0
        self._is_abandoned = False
        if _ends_torn(self._descriptor):
            self.write(b"\n")  # a broker died within a line; the next one is not to be part of it
        self._thread = Thread(target=self._write_all, name="ottla journal", daemon=True)
        self._thread.start()

    def write(self, lines: bytes) -> None:
        """Take whole lines, to be written soon. It never waits."""
        if self._is_abandoned:
            return
        if self._taken_bytes - self._written_bytes > WAITING_BYTES_MAX:
            self._abandon(f"more than {WAITING_BYTES_MAX} bytes wait for the disk")
            return
        self._taken_bytes += len(lines)
        self._lines.put(lines)

    def attempt(self, flush: Callable[[], None]) -> None:
        """Have lines made and handed over; what can't be made into one is a bug of ours, and a gap."""
        try:
            flush()
        except Exception as error:
            self._fail(error)

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._lines.put(None)
        self._thread.join(CLOSE_SECONDS_MAX)

    def _write_all(self) -> None:
        """The thread: write whatever comes, until told to end."""
        try:
            while not self._is_abandoned and (lines := self._lines.get()) is not None:
                written = 0
                while written < len(lines):
                    written += os.write(self._descriptor, memoryview(lines)[written:])
                self._written_bytes += len(lines)
        except OSError as error:
            self._abandon(error.strerror or str(error))
        except Exception as error:
            self._fail(error)
        finally:
            os.close(self._descriptor)

    def _abandon(self, reason: str) -> None:
        self._is_abandoned = True
        self._events.tell(Kind.JOURNAL_ABANDONED, path=str(self._path), reason=reason)

    def _fail(self, error: Exception) -> None:
        """A bug of ours."""
        self._is_abandoned = True
        self._events.tell(Kind.JOURNAL_ABANDONED, raised=error, path=str(self._path), reason=reason_of(error))


def _ends_torn(descriptor: int) -> bool:
    """Whether the file ends within a line."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return False
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) != b"\n"

"""Writes the log of `ottla serve` to stderr from a thread, so that a reader that does not read stops nothing.

    event loop ──write──▶ lines that wait, at most 4 MiB ──thread──▶ stderr

stderr may be a pipe that its other end never empties, as in a test harness that keeps the output for later, or a
terminal that Ctrl-S has stopped. Both block the writer after some 64 KiB. So only the thread writes. Lines beyond the
bound are dropped; how many is reported when the reader reads again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Final

WAITING_BYTES_MAX: Final = 4 << 20
#: How long the last lines may take when the broker ends, if the reader takes nothing meanwhile.
CLOSE_SECONDS_MAX: Final = 0.5


class LineWriter:
    """Writes lines to a file descriptor. `write` and `close` are called in one thread."""

    def __init__(self, descriptor: int, dropped: Callable[[int], object]) -> None:
        """`dropped`: called in the writing thread with the number of lines dropped, once there is room again."""
        self._descriptor = descriptor
        self._dropped = dropped
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread: Thread | None = None
        #: Each count has one thread that changes it, so no lock is needed.
        self._taken_bytes = 0
        self._written_bytes = 0
        self._dropped_lines = 0
        self._reported_lines = 0

    def write(self, line: str) -> None:
        """Take a line, to be written soon; or drop it. Never waits."""
        encoded = f"{line}\n".encode(errors="backslashreplace")
        if self._taken_bytes - self._written_bytes + len(encoded) > WAITING_BYTES_MAX:
            self._dropped_lines += 1
            return
        self._taken_bytes += len(encoded)
        self._lines.put(encoded)
        if self._thread is None:  # with the first line: most starts that fail write none
            self._thread = Thread(target=self._write_all, name="ottla log", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Wait for the last lines as long as the reader takes any. The descriptor stays open."""
        if self._thread is None:
            return
        self._lines.put(None)
        written_bytes = -1
        while self._thread.is_alive() and written_bytes != self._written_bytes:
            written_bytes = self._written_bytes
            self._thread.join(CLOSE_SECONDS_MAX)

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                pass  # a broken pipe or a closed stderr: the broker goes on without a log
            self._written_bytes += len(line)
            self._report_dropped()

    def _report_dropped(self) -> None:
        lines = self._dropped_lines - self._reported_lines
        if lines and self._taken_bytes - self._written_bytes < WAITING_BYTES_MAX // 2:
            self._reported_lines += lines
            self._dropped(lines)

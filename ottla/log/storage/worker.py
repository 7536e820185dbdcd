"""Work that would block the event loop too long, done in a thread: flushing and removing files.

Jobs are done one after the other, in the order of the calls. When one is done, `then` is called in the loop with its
error, or None. An error that is no OSError is a bug: `then` gets it as well, and the log tells of it. Neither such an
error nor a `then` that raises stops the next job.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from ottla.events.kind import Kind
from ottla.events.setbacks import reason_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from ottla.events.stream import Stream

Work: TypeAlias = Callable[[], None]
Then: TypeAlias = Callable[[Exception | None], None]


class DiskWorker(Protocol):
    """Does such work, in a thread or, in tests, at once."""

    def do(self, work: Work, then: Then) -> None:
        """Do it later, or now."""

    def drain(self) -> None:
        """Return when all that was asked for is done, and every `then` called."""


class _Queued(NamedTuple):
    work: Work
    then: Then


class DiskThread:
    """A thread that is started with the first job and ends with `close`."""

    def __init__(self, loop: AbstractEventLoop, events: Stream) -> None:
        self._loop = loop
        self._events = events
        self._jobs: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Then, Exception | None]] = queue.SimpleQueue()
        self._undone = 0
        self._thread: threading.Thread | None = None

    def do(self, work: Work, then: Then) -> None:
        if self._thread is None and not self._begin():
            self._undone += 1
            self._finish(then, self._outcome(work))
            return
        self._undone += 1
        self._jobs.put(_Queued(work, then))

    def drain(self) -> None:
        while self._undone:
            self._finish(*self._done.get())

    def close(self) -> None:
        """Finish all jobs, and end the thread."""
        self.drain()
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None

    def _begin(self) -> bool:
        """Start the thread. If the machine has none left, the event loop does the jobs itself until it has."""
        thread = threading.Thread(target=self._run, name="ottla-disk", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False
        self._thread = thread
        return True

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._done.put((job.then, self._outcome(job.work)))
            try:
                self._loop.call_soon_threadsafe(self._finish_done)
            except RuntimeError:  # the loop is closed; `drain` finishes it
                continue

    def _finish_done(self) -> None:
        """In the loop: call `then` for all jobs that are done."""
        while self._undone:
            try:
                then, error = self._done.get_nowait()
            except queue.Empty:
                return
            self._finish(then, error)

    def _finish(self, then: Then, error: Exception | None) -> None:
        self._undone -= 1
        try:
            then(error)
        except Exception as raised:
            self._events.tell(Kind.DISK_WORK_FAILED, raised=raised, reason=reason_of(raised))

    def _outcome(self, work: Work) -> Exception | None:
        try:
            return _outcome(work)
        except Exception as error:
            self._events.tell(Kind.DISK_WORK_FAILED, raised=error, reason=reason_of(error))
            return error


def _outcome(work: Work) -> OSError | None:
    try:
        work()
    except OSError as error:
        return error
    return None

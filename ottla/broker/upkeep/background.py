"""Work that takes long, done a little in every turn of the event loop, so that clients hardly notice.

A job is a generator that yields wherever it may be interrupted, and so often that a step takes a fraction of a
millisecond. Each turn of the loop gives one job one slice, job by job in turn; how many jobs there are makes no
difference to how long a turn takes. While there are none nothing runs.

A job that raises is over, the part that started it is told, and the other jobs go on.

How long a slice takes is measured by the machine's clock, whatever clock the broker has: it is about the time that
clients have to wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ottla.events.kind import Kind
from ottla.events.setbacks import reason_of

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.events.stream import Stream
    from ottla.log.job import Job

#: What is begun within it is finished, so a turn is held a step longer.
SLICE_SECONDS: Final = 0.002

#: Called when a job is over: with what it raised, while that is being handled, or None.
Ended: TypeAlias = Callable[[Exception | None], None]


class _Started(NamedTuple):
    job: Job
    name: str
    ended: Ended | None


class Background:
    """The jobs of a broker."""

    def __init__(self, tasks: TaskGroup, events: Stream, stopwatch: Callable[[], float] = perf_counter) -> None:
        """`stopwatch`: seconds, by the machine's clock."""
        self._tasks = tasks
        self._events = events
        self._stopwatch = stopwatch
        self._jobs: deque[_Started] = deque()
        self._is_running = False
        self._is_closed = False

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do."""
        return not self._is_running

    def start(self, job: Job, name: str, ended: Ended | None = None) -> None:
        """Do it from the next turn of the loop on. `ended` deals with an error; None: it is told."""
        if self._is_closed:
            return
        self._jobs.append(_Started(job, name, ended))
        if not self._is_running:
            self._is_running = True
            self._tasks.create_task(self._run(), name="background")

    def close(self) -> None:
        """Do nothing any more; what is half done stays so."""
        self._is_closed = True
        self._jobs.clear()

    async def _run(self) -> None:
        try:
            while self._jobs:
                self._give_slice(self._jobs.popleft())
                await asyncio.sleep(0)
        finally:
            self._is_running = False

    def _give_slice(self, started: _Started) -> None:
        try:
            if self._go_on(started.job):
                self._jobs.append(started)
            elif started.ended is not None:
                started.ended(None)
        except Exception as error:
            self._failed(started, error)

    def _failed(self, started: _Started, error: Exception) -> None:
        try:
            if started.ended is None:
                raise error
            started.ended(error)
        except Exception as raised:
            self._events.tell(Kind.JOB_FAILED, raised=raised, job=started.name, reason=reason_of(raised))

    def _go_on(self, job: Job) -> bool:
        """Give a job its slice; returns whether it has more to do."""
        stopwatch = self._stopwatch
        end = stopwatch() + SLICE_SECONDS
        return any(stopwatch() >= end for _ in job)

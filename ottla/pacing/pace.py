"""Whose turn it is: the workers of one event loop, and a slice of each turn of the loop for all of them together.

A request is worked off by a `Worker`, a greenlet: a stack of its own, which may be left in the middle of a call and
gone back to. Most are done long before their slice is. Those that are not go on in later turns, a few of them in turn;
who comes later waits, hardly begun, for what is half done takes memory. Of heavy ones only one goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias

from greenlet import getcurrent, greenlet

from ottla.pacing.bounds import Costs

Task: TypeAlias = Callable[[], None]

#: How long the requests of one turn may hold the loop, all together; each goes on to its next breath.
SLICE_SECONDS: Final = 0.002
#: How many requests go on in turn; the others wait, hardly begun.
ACTIVE_MAX: Final = 4
#: How many are begun in a turn whose slice is over; each goes to its first breath.
LATE_MAX: Final = 8
#: Workers that are kept for the next request.
_IDLE_MAX: Final = 8


class Worker(greenlet):
    """Works off requests, one after the other."""

    def __init__(self, pace: Pace) -> None:
        super().__init__(parent=pace.loop_stack)
        self.pace = pace
        self.costs = Costs()
        #: Is this one of the few that go on in turn?
        self.is_active = False
        #: May it take no breath, because somebody waits for it?
        self.is_hurried = False
        self.switch()  # to where it waits for its first task

    def run(self) -> None:
        while (task := self.pace.next_task(self)) is not None:
            task()
            del task  # what is done is let go of before this waits


class Pace:
    """The long requests of one event loop: who works, and who has to wait for the next turn."""

    def __init__(self, call_soon: Callable[[Task], object], now: Callable[[], float] = perf_counter) -> None:
        """`call_soon`: the loop's. `now`: the machine's clock in seconds, for this is about how long clients wait."""
        self.loop_stack: Any = getcurrent()
        self._call_soon = call_soon
        self._now = now
        self._turn_ends = 0.0
        self._is_closed = False
        self._turn_is_begun = False
        #: How many were begun though this turn's slice was over.
        self._begun_late = 0
        #: Those out of breath: a few that go on in turn, and those who wait until one of them is done.
        self._active: deque[Worker] = deque()
        self._waiting: deque[Worker] = deque()
        #: The one that may go on though it is heavy, until it is done.
        self._heavy: Worker | None = None
        self._idle: list[Worker] = []

    @property
    def is_settled(self) -> bool:
        """Whether nothing is half done."""
        return not self._active and not self._waiting

    def run(self, task: Task) -> Worker | None:
        """Do it now, as far as this turn's slice goes, and the rest in the turns that follow. It must not raise.

        Few are begun where others have had all of this turn's slice: as many may come as there are connections.

        Returns who does the rest; None: it is done, or is part of what a worker does.
        """
        if type(getcurrent()) is Worker:
            task()
            return None
        if not self._turn_is_begun:
            self._begin_turn()
        elif self._now() >= self._turn_ends:
            self._begun_late += 1
            if self._begun_late > LATE_MAX:
                task = partial(_begin_in_its_turn, task)
        if not self._idle:
            Worker(self)
        worker = self._idle.pop()
        worker.switch(task)
        if self._is_closed:
            self._end_idle()
        return worker if self._waiting and self._waiting[-1] is worker else None

    def finish(self, worker: Worker) -> None:
        """Have a worker do the rest now, because whoever calls this can't go on before."""
        (self._active if worker.is_active else self._waiting).remove(worker)
        worker.is_hurried = True
        worker.parent = getcurrent()  # where it comes back to when it is done
        worker.switch()

    def next_task(self, worker: Worker) -> Task | None:
        """Called by a worker that is done: waits until there is something else for it. None: it is not needed."""
        worker.is_active = worker.is_hurried = False
        if self._heavy is worker:
            self._heavy = None
        if len(self._idle) >= _IDLE_MAX:
            return None
        self._idle.append(worker)
        asked_by: Any = worker.parent
        worker.parent = self.loop_stack
        task: Task = asked_by.switch()
        return task

    def breathe(self, worker: Worker) -> None:
        """Called by a worker where it may be interrupted."""
        if self._now() >= self._turn_ends and not self._is_closed and not worker.is_hurried:
            (self._active if worker.is_active else self._waiting).append(worker)
            self.loop_stack.switch()

    def close(self) -> None:
        """Finish what is half done, and take no breath any more. No worker outlives what it does from then on: one that
        is left when its thread ends can't be ended, and Python's garbage collector of another thread comes upon it.
        """
        self._is_closed = True
        while (worker := self._next_worker()) is not None:
            worker.switch()
        self._end_idle()

    def _end_idle(self) -> None:
        """End those who have nothing to do. Of a stack that outlives its thread another one disposes, and may crash."""
        while self._idle:
            worker = self._idle.pop()
            worker.parent = getcurrent()
            worker.switch(None)

    def _begin_turn(self) -> None:
        self._turn_is_begun = True
        self._begun_late = 0
        self._turn_ends = self._now() + SLICE_SECONDS
        self._call_soon(self._end_turn)

    def _end_turn(self) -> None:
        """A new turn: those who wait go on, for one slice together."""
        self._turn_is_begun = False
        if self.is_settled:
            return
        self._begin_turn()
        while (worker := self._next_worker()) is not None:
            worker.switch()
            if self._now() >= self._turn_ends:
                return

    def _next_worker(self) -> Worker | None:
        """Whose turn it is. What is half done takes memory, so those who came later wait until others are done."""
        active = self._active
        while self._waiting and len(active) < ACTIVE_MAX:
            worker = self._waiting.popleft()
            worker.is_active = True
            active.append(worker)
        for _ in range(len(active)):
            worker = active.popleft()
            if self._may_go_on(worker):
                return worker
            active.append(worker)
        return None

    def _may_go_on(self, worker: Worker) -> bool:
        """Heavy ones do so one after the other."""
        if self._heavy is not worker and worker.costs.is_heavy:
            if self._heavy is not None:
                return False
            self._heavy = worker
        return True


def _begin_in_its_turn(task: Task) -> None:
    worker = getcurrent()
    assert type(worker) is Worker, "it is begun by one"
    worker.pace.breathe(worker)
    task()

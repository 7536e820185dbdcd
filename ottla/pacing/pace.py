"""The scheduler of long requests: each runs in a fiber, and all fibers of an event loop share a slice of each turn.

A `Fiber` is a greenlet: a stack of its own. Code in it can be suspended in the middle of nested calls, at the places
that `turns` marks, and resumed in a later turn of the loop. A fiber lives as long as its task, which is mostly less
than one slice. Tasks that need more are resumed in the turns that follow: `ACTIVE_MAX` of them alternate, the others
wait, hardly begun, because what is half done takes memory. Of the heavy ones (`Costs.is_heavy`) only one is resumed.

A fiber never outlives its thread, because another thread can neither resume nor end it. `Pace.close` finishes what is
suspended. If a thread ends without it, the fibers are ended there (`_Paces`), and their `finally` blocks run.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from greenlet import getcurrent, greenlet

from ottla.pacing.bounds import Costs

Task: TypeAlias = Callable[[], None]

#: How long all fibers together may hold the loop in one turn; each runs on to its next `yield_turn`.
SLICE_SECONDS: Final = 0.002
#: How many suspended tasks alternate; the others wait, hardly begun.
ACTIVE_MAX: Final = 4
#: How many tasks are begun in a turn whose slice is over; each runs to its first `yield_turn`.
LATE_MAX: Final = 8


class Fiber(greenlet):
    """The stack of one task."""

    def __init__(self, pace: Pace, task: Task) -> None:
        super().__init__(task, pace.loop_stack)
        self.pace = pace
        self.costs = Costs()
        #: Whether it is one of those that alternate.
        self.is_active = False
        #: Whether it must run on without being suspended, because its caller waits for the result.
        self.is_unsuspendable = False


class Pace:
    """The long tasks of one event loop. It belongs to the thread that makes it."""

    def __init__(self, call_soon: Callable[[Task], object], now: Callable[[], float] = perf_counter) -> None:
        """`call_soon`: the loop's. `now`: the machine's clock in seconds, for this is about how long clients wait."""
        self.loop_stack: Any = getcurrent()
        self._call_soon = call_soon
        self._now = now
        self._turn_ends = 0.0
        self._turn_has_begun = False
        self._is_closed = False
        #: How many tasks were begun though this turn's slice was over.
        self._begun_late = 0
        #: The suspended fibers: a few that alternate, and those that wait until one of these is done.
        self._active: deque[Fiber] = deque()
        self._waiting: deque[Fiber] = deque()
        #: The one that may be resumed though it is heavy, until it is done.
        self._heavy: Fiber | None = None
        _this_thread.paces.add(self)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is half done."""
        return not self._active and not self._waiting

    def run(self, task: Task) -> Fiber | None:
        """Do the task now, as far as this turn's slice goes, and the rest in the turns that follow. It must not raise.

        As many tasks may come in a turn as there are connections: when the slice is over, only a few are begun.

        Returns the suspended fiber; None: the task is done, or is done as part of the fiber that has called this.
        """
        if type(getcurrent()) is Fiber:
            task()
            return None
        if not self._turn_has_begun:
            self._begin_turn()
        elif self._now() >= self._turn_ends:
            self._begun_late += 1
            if self._begun_late > LATE_MAX:
                task = partial(_begin_in_its_turn, task)
        fiber = Fiber(self, task)
        fiber.switch()
        return None if fiber.dead else fiber

    def finish(self, fiber: Fiber) -> None:
        """Do the rest of a suspended task now, because the caller can't go on before."""
        (self._active if fiber.is_active else self._waiting).remove(fiber)
        fiber.is_unsuspendable = True
        fiber.parent = getcurrent()  # where it returns to when it is done
        self._resume(fiber)

    def yield_turn(self, fiber: Fiber) -> None:
        """Called by a fiber where it may be suspended: others get their turn if the slice is over."""
        if self._now() >= self._turn_ends and not self._is_closed and not fiber.is_unsuspendable:
            (self._active if fiber.is_active else self._waiting).append(fiber)
            self.loop_stack.switch()

    def close(self) -> None:
        """Finish what is half done, and suspend nothing any more."""
        self._is_closed = True
        while (fiber := self._next_fiber()) is not None:
            self._resume(fiber)

    def abandon(self) -> None:
        """End what is half done where it stands, as the thread does. Nothing is suspended any more."""
        self._is_closed = True
        for fiber in (*self._active, *self._waiting):
            with suppress(Exception):  # of a `finally` block that finds no event loop
                fiber.throw()

    def _begin_turn(self) -> None:
        self._turn_has_begun = True
        self._begun_late = 0
        self._turn_ends = self._now() + SLICE_SECONDS
        self._call_soon(self._end_turn)

    def _end_turn(self) -> None:
        """A new turn: suspended fibers are resumed, for one slice together."""
        self._turn_has_begun = False
        if self.is_settled:
            return
        self._begin_turn()
        while (fiber := self._next_fiber()) is not None:
            self._resume(fiber)
            if self._now() >= self._turn_ends:
                return

    def _resume(self, fiber: Fiber) -> None:
        fiber.switch()
        if fiber.dead and self._heavy is fiber:
            self._heavy = None

    def _next_fiber(self) -> Fiber | None:
        """The one to resume. What is half done takes memory, so later ones wait until others are done."""
        active = self._active
        while self._waiting and len(active) < ACTIVE_MAX:
            fiber = self._waiting.popleft()
            fiber.is_active = True
            active.append(fiber)
        for _ in range(len(active)):
            fiber = active.popleft()
            if self._may_be_resumed(fiber):
                return fiber
            active.append(fiber)
        return None

    def _may_be_resumed(self, fiber: Fiber) -> bool:
        """Heavy ones are resumed one after the other."""
        if self._heavy is not fiber and fiber.costs.is_heavy:
            if self._heavy is not None:
                return False
            self._heavy = fiber
        return True


def _begin_in_its_turn(task: Task) -> None:
    fiber = getcurrent()
    assert type(fiber) is Fiber, "a fiber runs this"
    fiber.pace.yield_turn(fiber)
    task()


class _Paces(WeakSet[Pace]):
    """Those of one thread, kept in its own storage. A thread clears that last: then what is suspended ends with it."""

    def abandon(self) -> None:
        for pace in list(self):
            pace.abandon()

    __del__ = abandon


class _Thread(threading.local):
    def __init__(self) -> None:
        self.paces = _Paces()


_this_thread: Final = _Thread()


@atexit.register
def _end_main_thread() -> None:
    """Its storage is cleared when Python can run no code any more."""
    _this_thread.paces.abandon()

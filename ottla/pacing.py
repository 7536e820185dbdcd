"""One request may be long; those behind it still get their turn.

A request is worked off by a `Worker`, a greenlet: a stack of its own, which may be left in the middle of a call and
gone back to. What may take long says where that is allowed:

    for topic in paced(request.topics):     breathe()

When the worker's slice of this turn of the loop is over, the loop goes on there, and comes back in a later turn. Within
a slice nothing else runs, so between two such places code is as safe as it ever was. Who calls them outside of a worker
(a test, a tool, a timer) just goes on. Most requests are done long before their slice is.

A worker also knows what its request has cost so far: see `Costs`.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import filterfalse, groupby
from time import perf_counter
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from greenlet import getcurrent, greenlet

T = TypeVar("T")
Task: TypeAlias = Callable[[], None]
Part: TypeAlias = bytes | bytearray | memoryview
#: What an answer is written to.
Parts: TypeAlias = list[Part]

#: How long the requests of one turn may hold the loop, all together; each goes on to its next breath.
SLICE_SECONDS: Final = 0.002
#: After so many elements a look at the clock.
BREATH_ELEMENTS: Final = 8
#: With no more elements than these nobody asks whether somebody else is to have a turn.
FEW_ELEMENTS: Final = 16
#: So many parts of an answer are made one.
JOINED_PARTS: Final = 512
#: How many requests go on in turn; the others wait, hardly begun.
ACTIVE_MAX: Final = 4
#: `isinstance(part, memoryview)`, for loops that Python does not run.
_is_view: Final = memoryview.__instancecheck__
#: How many are begun in a turn whose slice is over; each goes to its first breath.
LATE_MAX: Final = 8
#: A request that has had more elements than this is heavy: megabytes of it are in memory. Only one goes on.
HEAVY_ELEMENTS: Final = 10_000
#: Workers that are kept for the next request.
_IDLE_MAX: Final = 8

MIB: Final = 1024 * 1024
#: Elements of arrays and tagged fields in one request; short arrays within others count as well. Each costs some
#: hundred bytes and some microseconds more than it has on the wire. Kafka 4.4 allows a million in each array.
REQUEST_ELEMENTS_MAX: Final = 100_000
#: What the texts in the longer arrays of one request take in memory: up to four bytes a letter, if one is rare enough.
TEXT_BYTES_MAX: Final = 24 * MIB
#: Elements of the longer arrays in one answer, which may tell of all there is.
ANSWER_ELEMENTS_MAX: Final = 500_000
#: Bytes of one answer, apart from records, which are views of the log. More than the largest request has: the leader of
#: a group is told all that its members have sent.
ANSWER_BYTES_MAX: Final = 128 * MIB
#: What the compressed batches of a request may unpack to, together: so much, or so many times its size if that is more.
UNPACKED_BYTES_MAX: Final = 100 * MIB
UNPACKED_TIMES_MAX: Final = 16
#: And to how many records. Alike ones take no space, and each costs as long as any other.
UNPACKED_RECORDS_MAX: Final = 1_000_000
BYTES_PER_RECORD: Final = 10
#: Records of a request that are named as refused, each with the reason.
FAULTS_MAX: Final = 10_000


class TooCostly(Exception):
    """A request or its answer goes beyond what one may cost; the text says what."""


class Costs:
    """What a request may still cost."""

    __slots__ = (
        "answer_bytes",
        "answer_id",
        "elements",
        "elements_max",
        "faults",
        "parts_counted",
        "parts_joined",
        "text_bytes",
        "unpacked_bytes",
        "unpacked_records",
    )

    def __init__(self) -> None:
        self.begin(0)
        self.begin_answer([])

    @property
    def is_heavy(self) -> bool:
        """Whether the request, or its answer once that is begun, takes much memory."""
        return self.elements_max - self.elements > HEAVY_ELEMENTS

    def begin(self, request_bytes: int) -> None:
        """A request of so many bytes is taken up."""
        self.elements = self.elements_max = REQUEST_ELEMENTS_MAX
        self.faults = FAULTS_MAX
        self.text_bytes = TEXT_BYTES_MAX
        self.unpacked_bytes = max(UNPACKED_BYTES_MAX, UNPACKED_TIMES_MAX * request_bytes)
        self.unpacked_records = max(UNPACKED_RECORDS_MAX, request_bytes // BYTES_PER_RECORD)

    def begin_answer(self, parts: Parts) -> None:
        """Its answer is about to be written, to these parts."""
        self.elements = self.elements_max = ANSWER_ELEMENTS_MAX
        self.answer_id = id(parts)
        #: What it may still have.
        self.answer_bytes = ANSWER_BYTES_MAX
        #: How many of its parts are counted, and how many are as few as they can be.
        self.parts_counted = self.parts_joined = len(parts)

    def count(self, parts: Parts) -> None:
        """Count what was written since the last time, and make few parts of it. Raises `TooCostly`.

        There may be a million of them: to go through all at the end would take as long as a slice may not.
        """
        if id(parts) != self.answer_id:
            return  # the inside of a tagged field, which becomes one part
        self.answer_bytes -= own_bytes(parts[self.parts_counted :])
        if self.answer_bytes < 0:
            fail_long_answer()
        if len(parts) - self.parts_joined >= JOINED_PARTS:
            parts[self.parts_joined :] = join_own(parts[self.parts_joined :])
            self.parts_joined = len(parts)
        self.parts_counted = len(parts)


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
    breathe()
    task()


def breathe() -> None:
    """Others may have their turn here."""
    worker = getcurrent()
    if type(worker) is Worker:
        worker.pace.breathe(worker)


def in_one_go(task: Task) -> None:
    """Do it without taking breath: nobody may come in between."""
    worker = getcurrent()
    if type(worker) is not Worker or worker.is_hurried:
        task()
        return
    worker.is_hurried = True
    try:
        task()
    finally:
        worker.is_hurried = False


def paced(items: Iterable[T], elements: int = BREATH_ELEMENTS) -> Iterable[T]:
    """The same items, with breath in between: after each if they are large, else after some `elements`."""
    worker = getcurrent()
    return _paced(items, worker, elements) if type(worker) is Worker else items


def _paced(items: Iterable[T], worker: Worker, elements: int = BREATH_ELEMENTS) -> Iterator[T]:
    left = elements
    for item in items:
        yield item
        left -= 1
        if not left:
            left = elements
            worker.pace.breathe(worker)


def paced_parts(items: Iterable[T], parts: Parts) -> Iterable[T]:
    """As `paced`, for what is written to these parts of an answer: they are counted. Raises `TooCostly`."""
    worker = getcurrent()
    return _paced_parts(items, parts, worker) if type(worker) is Worker else items


def _paced_parts(items: Iterable[T], parts: Parts, worker: Worker) -> Iterator[T]:
    for place, item in enumerate(_paced(items, worker), 1):
        yield item
        if place % BREATH_ELEMENTS == 0:
            worker.costs.count(parts)


def join_own(parts: Parts) -> Parts:
    """The same bytes in as few parts as may be: records, which are views of the log, are not copied."""
    if memoryview not in set(map(type, parts)):
        return [b"".join(parts)]
    joined: Parts = []
    for kind, group in groupby(parts, key=type):
        if kind is memoryview:
            joined += group
        else:
            joined.append(b"".join(group))
    return joined


def own_bytes(parts: Iterable[Part]) -> int:
    """How long these parts of an answer are together, without records: views of the log are not our own memory."""
    return sum(map(len, filterfalse(_is_view, parts)))


def fail_long_answer() -> NoReturn:
    raise TooCostly(f"it has more than {ANSWER_BYTES_MAX} bytes")


def costs() -> Costs | None:
    """What the request that is being worked off may still cost; None: this is none."""
    worker = getcurrent()
    return worker.costs if type(worker) is Worker else None


def lift_bounds() -> None:
    """What comes now is part of no request: it costs what it does."""
    worker = getcurrent()
    if type(worker) is Worker:
        spent = worker.costs
        spent.elements = spent.elements_max = spent.text_bytes = sys.maxsize


def charge_unpacked(size: int) -> bool:
    """So many bytes were unpacked; returns whether that was within what the request may have."""
    worker = getcurrent()
    if type(worker) is not Worker:
        return True
    worker.costs.unpacked_bytes -= size
    worker.pace.breathe(worker)
    return worker.costs.unpacked_bytes >= 0


def charge_records(count: int) -> bool:
    """So many records that were unpacked are about to be looked at; returns whether the request may have them."""
    worker = getcurrent()
    if type(worker) is not Worker:
        return True
    worker.costs.unpacked_records -= count
    return worker.costs.unpacked_records >= 0


def charge_fault() -> bool:
    """Another record is refused; returns whether it is to be named."""
    worker = getcurrent()
    if type(worker) is not Worker:
        return True
    worker.costs.faults -= 1
    return worker.costs.faults >= 0


def charge_elements(count: int, text_bytes: int = 0) -> None:
    """So many elements are about to be read or written, or were read, with texts that take so much memory.

    Raises `TooCostly`.
    """
    worker = getcurrent()
    if type(worker) is Worker:
        spent = worker.costs
        spent.elements -= count
        if spent.elements < 0:
            raise TooCostly(f"it has more than {spent.elements_max} elements")
        spent.text_bytes -= text_bytes
        if spent.text_bytes < 0:
            raise TooCostly(f"its texts take more than {TEXT_BYTES_MAX} bytes")

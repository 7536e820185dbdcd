"""Long requests in slices: where they are suspended, which one is resumed, and what they may cost."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import ClassVar

import pytest
from greenlet import getcurrent, greenlet

from ottla.pacing import (
    ACTIVE_MAX,
    ANSWER_BYTES_MAX,
    ELEMENTS_PER_LOOK,
    FAULTS_MAX,
    FEW_ELEMENTS,
    HEAVY_ELEMENTS,
    JOINED_PARTS,
    LATE_MAX,
    REQUEST_ELEMENTS_MAX,
    SLICE_SECONDS,
    UNPACKED_BYTES_MAX,
    UNPACKED_RECORDS_MAX,
    Pace,
    Parts,
    TooCostly,
    charge_elements,
    charge_fault,
    charge_records,
    charge_unpacked,
    costs,
    paced,
    paced_each,
    paced_parts,
    yield_turn,
)
from ottla.pacing.bounds import MIB


class Loop:
    """Turns of a loop, and a clock that stands still until it is told."""

    made: ClassVar[list[Loop]] = []

    def __init__(self) -> None:
        self.made.append(self)
        self.now = 0.0
        self.soon: deque[Callable[[], None]] = deque()
        self.pace = Pace(self.soon.append, lambda: self.now)

    def turn(self) -> None:
        for _ in range(len(self.soon)):
            self.soon.popleft()()

    def take_long(self) -> None:
        self.now += SLICE_SECONDS


@pytest.fixture(autouse=True)
def no_stack_outlives_its_test() -> Iterator[None]:
    """Its thread lives on, and nothing would ever resume it."""
    yield
    while Loop.made:
        Loop.made.pop().pace.close()


class Work:
    """Steps, each of which takes all of a slice; it may be suspended between them."""

    def __init__(self, loop: Loop, steps: int) -> None:
        self.done = 0
        self._loop, self._steps = loop, steps

    def __call__(self) -> None:
        for _ in range(self._steps):
            self.done += 1
            self._loop.take_long()
            yield_turn()


def test_short_work_is_done_at_once() -> None:
    """And no turn of the loop is needed but the one that ends the slice."""
    loop = Loop()
    done: list[int] = []
    loop.pace.run(lambda: done.extend(paced(range(1_000))))
    assert len(done) == 1_000
    assert loop.pace.is_settled
    loop.turn()
    assert not loop.soon


def test_long_work_goes_on_a_slice_each_turn() -> None:
    loop = Loop()
    work = Work(loop, 3)
    loop.pace.run(work)
    assert (work.done, loop.pace.is_settled) == (1, False)
    loop.turn()
    assert work.done == 2
    loop.turn()
    loop.turn()
    assert (work.done, loop.pace.is_settled) == (3, True)


def test_a_turn_has_one_slice_for_all() -> None:
    """A task that comes when it is used up is suspended at the first chance."""
    loop = Loop()
    works = [Work(loop, 2) for _ in range(3)]
    for work in works:
        loop.pace.run(work)
    loop.turn()
    assert sum(work.done for work in works) == len(works) + 1


def test_not_all_are_begun_when_many_come_in_one_turn() -> None:
    """Each may take a millisecond before it can be suspended."""
    loop = Loop()
    works = [Work(loop, 1) for _ in range(100)]
    for work in works:
        loop.pace.run(work)
    assert sum(work.done for work in works) == 1 + LATE_MAX
    while not loop.pace.is_settled:
        loop.turn()
    assert sum(work.done for work in works) == len(works)


def test_a_few_go_on_in_turn_and_the_others_wait() -> None:
    """What is half done takes memory."""
    loop = Loop()
    works = [Work(loop, 10) for _ in range(ACTIVE_MAX + 2)]
    for work in works:
        loop.pace.run(work)
    for _ in range(5 * ACTIVE_MAX):
        loop.turn()
    assert [work.done for work in works] == [6] * ACTIVE_MAX + [1] * 2
    while not loop.pace.is_settled:
        loop.turn()
    assert [work.done for work in works] == [10] * len(works)


def test_heavy_ones_go_on_one_after_the_other() -> None:
    """Each has much in memory until it is done; those who are light pass them by."""
    loop = Loop()
    heavy = [Work(loop, 10) for _ in range(ACTIVE_MAX - 1)]
    light = Work(loop, 10)

    def become_heavy(work: Work) -> None:
        charge_elements(HEAVY_ELEMENTS + 1)
        work()
        begin_answer([])
        work()

    for work in heavy:
        loop.pace.run(partial(become_heavy, work))
    loop.pace.run(light)
    half_done = 0
    light_done_with: list[int] = []
    while not loop.pace.is_settled:
        loop.turn()
        half_done = max(half_done, sum(1 < work.done < 20 for work in heavy))
        if light.done == 10:
            light_done_with = light_done_with or [work.done for work in heavy]
    assert half_done == 1
    assert light_done_with[1:] == [1] * (len(heavy) - 1), "light work waits for none of them"
    assert [work.done for work in (*heavy, light)] == [20] * len(heavy) + [10]


def test_a_look_at_the_clock_after_so_many_elements() -> None:
    loop = Loop()
    seen: list[int] = []

    def work() -> None:
        loop.take_long()
        seen.extend(paced(range(3 * ELEMENTS_PER_LOOK)))

    loop.pace.run(work)
    turns = 0
    while not loop.pace.is_settled:
        loop.take_long()
        loop.turn()
        turns += 1
    assert turns == 1, "the later looks are in a slice that has just begun"
    assert seen == list(range(3 * ELEMENTS_PER_LOOK))


@pytest.mark.parametrize(
    ("items", "is_suspended"),
    [
        (lambda: paced(range(FEW_ELEMENTS)), False),
        (lambda: paced(range(FEW_ELEMENTS + 1)), True),
        (lambda: paced_each([1]), False),
        (lambda: paced_each([1, 2]), True),
    ],
    ids=["few", "more than a few", "a large one", "a few large ones"],
)
def test_a_few_elements_are_done_in_one_go(items: Callable[[], Iterable[int]], is_suspended: bool) -> None:
    """Unless each may take long."""
    loop = Loop()

    def work() -> None:
        loop.take_long()
        for _ in items():
            pass

    loop.pace.run(work)
    assert loop.pace.is_settled is not is_suspended


def test_work_within_work_is_done_there() -> None:
    loop = Loop()
    works = [Work(loop, 2), Work(loop, 2)]

    def work_within() -> None:
        for work in works:
            loop.pace.run(work)

    loop.pace.run(work_within)
    assert [work.done for work in works] == [1, 0]
    while not loop.pace.is_settled:
        loop.turn()
    assert [work.done for work in works] == [2, 2]


def test_at_the_end_all_is_finished() -> None:
    loop = Loop()
    works = [Work(loop, 5) for _ in range(10)]
    for work in works:
        loop.pace.run(work)
    loop.pace.close()
    assert [work.done for work in works] == [5] * 10
    late = Work(loop, 5)
    loop.pace.run(late)
    assert late.done == 5


def test_a_fiber_ends_with_its_task() -> None:
    """At rest there is no stack but the loop's own."""
    loop = Loop()
    fibers: list[greenlet] = []
    for is_closed in (False, True):
        if is_closed:
            loop.pace.close()
        loop.pace.run(lambda: fibers.append(getcurrent()))
    assert [fiber.dead for fiber in fibers] == [True, True]


#: A task is suspended within a generator, and its event loop goes away without closing anything.
_LEFT_SUSPENDED = """
import sys, threading
from ottla.pacing import Pace, paced_each

def work():
    begun_in = threading.get_ident()
    try:
        for _ in paced_each(range(3)):
            pass
        print("done")
    finally:
        print("ended in", "its thread" if threading.get_ident() == begun_in else "another one")

def leave():
    ticks = iter(range(100))
    Pace(lambda task: None, lambda: next(ticks)).run(work)

if sys.argv[1] == "thread":
    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    print("thread is over")
else:
    leave()
    print("interpreter is over")
"""


@pytest.mark.parametrize(
    ("what_ends", "printed"),
    [
        ("thread", ["ended in its thread", "thread is over"]),
        ("interpreter", ["interpreter is over", "ended in its thread"]),
    ],
)
def test_no_fiber_outlives_its_thread(what_ends: str, printed: list[str]) -> None:
    """Another thread can't end it: its stack and all it refers to would stay, and its `finally` blocks never run."""
    command = [sys.executable, "-X", "faulthandler", "-c", _LEFT_SUSPENDED, what_ends]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines(), ran.stderr) == (0, printed, "")


def test_what_was_done_is_let_go_of() -> None:
    loop = Loop()
    work = Work(loop, 1)
    gone = weakref.ref(work)
    loop.pace.run(work)
    del work
    while not loop.pace.is_settled:
        loop.turn()
    gc.collect()
    assert gone() is None


def within(request_bytes: int, work: Callable[[], None]) -> None:
    """Do it as a request of this size."""

    def begun() -> None:
        spent = costs()
        assert spent is not None
        spent.begin(request_bytes)
        work()

    Loop().pace.run(begun)


def test_elements_of_a_request() -> None:
    def spend() -> None:
        charge_elements(REQUEST_ELEMENTS_MAX)
        with pytest.raises(TooCostly):
            charge_elements(1)

    within(0, spend)


@pytest.mark.parametrize(("part", "is_counted"), [(bytes(MIB), True), (memoryview(bytes(MIB)), False)])
def test_bytes_of_an_answer(part: bytes | memoryview, is_counted: bool) -> None:
    """It is given up while it is being written. Records, views of the log, are not counted."""
    parts: list[bytes | bytearray | memoryview] = []

    def write() -> None:
        begin_answer(parts)
        for _ in paced_parts(range(10 * ANSWER_BYTES_MAX // MIB), parts):
            parts.extend([part])

    def work() -> None:
        if is_counted:
            with pytest.raises(TooCostly, match="bytes"):
                write()
        else:
            write()

    within(0, work)
    count_max = ANSWER_BYTES_MAX // MIB + ELEMENTS_PER_LOOK if is_counted else 10 * ANSWER_BYTES_MAX // MIB
    assert ANSWER_BYTES_MAX // MIB < len(parts) <= count_max


def test_an_answer_of_many_small_parts() -> None:
    """While it is written it is made few, or there would be a million of them to go through at its end."""
    parts: Parts = [b"header"]
    records = memoryview(b"records")

    def work() -> None:
        begin_answer(parts)
        for number in paced_parts(range(10_000), parts):
            parts.extend([b"a", b"b", b"c"])
            if number % 1_000 == 0:
                parts.append(records)

    within(0, work)
    assert b"".join(parts) == b"header" + b"".join(b"abc" + b"records" * (n % 1_000 == 0) for n in range(10_000))
    assert parts[0] == b"header"
    assert sum(part is records for part in parts) == 10
    assert len(parts) < JOINED_PARTS + 10_000 * 3 // JOINED_PARTS + 2 * 10


def test_a_tagged_field_within_an_answer() -> None:
    """It is written apart, and counts when it is put in its place."""
    parts: Parts = [b"header"]

    def work() -> None:
        begin_answer(parts)
        for _ in paced_parts(range(ELEMENTS_PER_LOOK), parts):
            inside: Parts = []
            for _ in paced_parts(range(10 * ELEMENTS_PER_LOOK), inside):
                inside.append(b"x")
            parts.append(b"".join(inside))
        spent = costs()
        assert spent is not None
        assert spent.answer_bytes == ANSWER_BYTES_MAX - 10 * ELEMENTS_PER_LOOK**2

    within(0, work)


def begin_answer(parts: Parts) -> None:
    spent = costs()
    assert spent is not None
    spent.begin_answer(parts)


@pytest.mark.parametrize(("request_bytes", "bytes_max"), [(0, UNPACKED_BYTES_MAX), (10**8, 16 * 10**8)])
def test_unpacked_bytes_of_a_request(request_bytes: int, bytes_max: int) -> None:
    """A large one may unpack to more."""

    def spend() -> None:
        assert charge_unpacked(bytes_max)
        assert not charge_unpacked(1)

    within(request_bytes, spend)


@pytest.mark.parametrize(("request_bytes", "records_max"), [(0, UNPACKED_RECORDS_MAX), (10**8, 10**7)])
def test_unpacked_records_of_a_request(request_bytes: int, records_max: int) -> None:
    def spend() -> None:
        assert charge_records(records_max)
        assert not charge_records(1)

    within(request_bytes, spend)


def test_faults_of_a_request() -> None:
    named: list[bool] = []
    within(0, lambda: named.extend(charge_fault() for _ in range(FAULTS_MAX + 5)))
    assert sum(named) == FAULTS_MAX


def test_nothing_is_counted_outside() -> None:
    """A tool or a test reads what it likes."""
    charge_elements(10**9)
    yield_turn()
    assert costs() is None
    assert charge_unpacked(10**12)
    assert charge_records(10**12)
    assert charge_fault()
    assert list(paced(range(100))) == list(range(100))

"""The timer on the virtual clock: deadlines met in order, reactions given their turn, errors kept apart."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.purgatory import NEVER_MS, Alarm, Periodic, SystemClock, Timer, TimerEntry, VirtualClock
from ottla.purgatory import timer as timer_module
from ottla.purgatory.timer import FIRED_MAX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


@given(
    intervals=st.lists(st.integers(1, 40).map(lambda number: 2 * number), min_size=1, max_size=3),
    due=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400), st.integers(0, 300)), max_size=8),
    moves=st.lists(st.integers(0, 500), min_size=1, max_size=3),
)
def test_rounds_without_work_are_left_out_and_those_with_work_come_when_they_would(
    intervals: list[int], due: list[tuple[int, int, int]], moves: list[int]
) -> None:
    """Periodic work that is walked round by round finds the same work at the same instants.

    Each of `due` is an alarm that makes work for one of the periodic entries, to be found so much later. Alarms are due
    at odd instants and rounds at even ones, for what is due in one millisecond comes in either order.
    """

    def play(*, skips: bool) -> tuple[list[tuple[int, int]], int]:
        timer = Timer(VirtualClock())
        waiting: list[list[int]] = [[] for _ in intervals]
        found: list[tuple[int, int]] = []
        rounds = 0

        def begin(number: int) -> None:
            nonlocal rounds
            interval, mine = intervals[number], waiting[number]
            if skips and timer.skip_idle(
                entries[number], interval, lambda in_ms: any(at <= timer.now_ms() + in_ms for at in mine)
            ):
                return
            rounds += 1
            if any(at <= timer.now_ms() for at in mine):
                found.append((number, timer.now_ms()))
            mine[:] = [at for at in mine if at > timer.now_ms()]
            timer.add_in(entries[number], interval)

        entries = [Periodic(partial(begin, number)) for number in range(len(intervals))]
        for entry, interval in zip(entries, intervals, strict=True):
            timer.add_in(entry, interval)
        for number, at_ms, later_ms in due:
            mine = waiting[number % len(intervals)]
            timer.add(Alarm(partial(mine.append, 2 * at_ms + 1 + later_ms)), 2 * at_ms + 1)
        for by_ms in moves:
            timer.advance_sync(by_ms)
        return found, rounds

    found, rounds = play(skips=True)
    assert sorted(found) == sorted(play(skips=False)[0])
    assert rounds == len(found)


class TestWithoutALoop:
    """`advance_sync`: nothing reacts but what expires."""

    def test_each_deadline_is_met_at_its_own_time(self) -> None:
        """In one great advance each alarm finds the clock at its deadline, and at the end it has gone the whole way."""
        clock = VirtualClock(start_ms=1000, wall_ms=0)
        timer = Timer(clock)
        seen: list[int] = []
        for deadline_ms in (46_005, 1013, 1013, 1000, 1107, 90_000):
            timer.add(Alarm(lambda: seen.append(timer.now_ms())), deadline_ms)
        timer.advance_sync(59_000)
        assert seen == [1000, 1013, 1013, 1107, 46_005]
        assert (clock.now_ms(), clock.wall_ms(), timer.size, timer.fired) == (60_000, 59_000, 1, 5)

    def test_what_is_armed_on_the_way_fires_on_the_way(self) -> None:
        """An alarm that re-arms itself each 3 s rings fifteen times in 45 s, and another one in between."""
        timer = Timer(VirtualClock())
        rung: list[tuple[str, int]] = []

        def beat() -> None:
            rung.append(("beat", timer.now_ms()))
            timer.add(heart, timer.now_ms() + 3000)
            if timer.now_ms() == 6000:
                timer.add(Alarm(lambda: rung.append(("echo", timer.now_ms()))), 6001)

        heart = Alarm(beat)
        timer.add(heart, 3000)
        timer.advance_sync(45_000)
        beats = [("beat", now_ms) for now_ms in range(3000, 45_001, 3000)]
        assert rung == [*beats[:2], ("echo", 6001), *beats[2:]]

    def test_an_error_is_raised_and_loses_nobody(self) -> None:
        """The test that advances learns it at once; the others due fire when it goes on, at the same time."""
        timer = Timer(VirtualClock())
        rung: list[int] = []

        def fail() -> None:
            raise ZeroDivisionError

        for callback in (fail, lambda: rung.append(timer.now_ms()), lambda: rung.append(timer.now_ms())):
            timer.add(Alarm(callback), 10)
        with pytest.raises(ZeroDivisionError):
            timer.advance_sync(50)
        assert (timer.now_ms(), timer.size) == (10, 2)
        timer.advance_sync(0)
        assert (rung, timer.size) == ([10, 10], 0)

    def test_with_a_hook_an_error_harms_nobody_else(self) -> None:
        """Of three alarms the first and the last fail: the hook gets the errors and the alarms, the second rings."""
        errors: list[tuple[str, TimerEntry]] = []
        timer = Timer(VirtualClock(), on_error=lambda error, entry: errors.append((str(error), entry)))
        rung: list[str] = []

        def fail(message: str) -> None:
            raise ValueError(message)

        first, last = Alarm(lambda: fail("one")), Alarm(lambda: fail("three"))
        for alarm in (first, Alarm(lambda: rung.append("two")), last):
            timer.add(alarm, 10)
        timer.advance_sync(10)
        assert rung == ["two"]
        assert errors == [("one", first), ("three", last)]
        assert timer.fired == 3

    def test_only_a_virtual_clock_can_be_advanced(self) -> None:
        """The machine's goes by itself."""
        with pytest.raises(TypeError, match="not SystemClock"):
            Timer(SystemClock()).advance_sync(10)

    def test_time_does_not_go_back(self) -> None:
        """A negative span is the caller's mistake, and changes nothing."""
        timer = Timer(VirtualClock(start_ms=500))
        with pytest.raises(ValueError, match="by_ms=-1"):
            timer.advance_sync(-1)
        assert timer.now_ms() == 500

    def test_what_is_due_by_the_system_clock_fires_when_asked(self) -> None:
        """Without a loop on the system clock nothing fires by itself; `fire_due` says how many did."""
        clock = SystemClock()
        timer = Timer(clock)
        rung: list[str] = []
        timer.add(Alarm(lambda: rung.append("past")), clock.now_ms())
        timer.add(Alarm(lambda: rung.append("future")), clock.now_ms() + 3_600_000)
        assert rung == []
        assert (timer.fire_due(), rung, timer.size, timer.wake_ups) == (1, ["past"], 1, 0)


def test_a_delay_without_end_is_never_over() -> None:
    """Settings may say up to 2**63 - 1 ms. An alarm that was pending is so no more."""
    timer = Timer(VirtualClock(start_ms=10))
    alarm = Alarm(lambda: None)
    timer.add_in(alarm, NEVER_MS - 11)
    assert (alarm.is_pending, alarm.deadline_ms) == (True, NEVER_MS - 1)
    timer.add_in(alarm, NEVER_MS - 10)
    assert (alarm.is_pending, timer.size) == (False, 0)


class Workshop:
    """A program in small: alarms put messages into an inbox, a task works them off, some of them arm new alarms."""

    def __init__(self, timer: Timer) -> None:
        self.timer = timer
        self.inbox: asyncio.Queue[tuple[str, Callable[[], object] | None]] = asyncio.Queue()
        self.is_working = False
        self.diary: list[tuple[str, int]] = []

    def send_at(self, deadline_ms: int, message: str, then: Callable[[], object] | None = None) -> None:
        self.timer.add(Alarm(lambda: self.inbox.put_nowait((message, then))), deadline_ms)

    @property
    def is_settled(self) -> bool:
        return self.inbox.empty() and not self.is_working

    async def work(self) -> None:
        while True:
            message, then = await self.inbox.get()
            self.is_working = True
            for _ in range(5):  # work that takes turns of the loop
                await asyncio.sleep(0)
            self.diary.append((message, self.timer.now_ms()))
            if then is not None:
                then()
            self.is_working = False


@pytest.fixture
async def workshop() -> AsyncIterator[Workshop]:
    timer = Timer(VirtualClock(), loop=asyncio.get_running_loop())
    workshop = Workshop(timer)
    async with asyncio.TaskGroup() as tasks:
        worker = tasks.create_task(workshop.work())
        yield workshop
        worker.cancel()
    timer.close()


class TestOnALoop:
    """`advance`: the program reacts after each deadline, at that deadline's time, before the next one comes."""

    async def test_reactions_take_place_at_the_time_of_their_cause(self, workshop: Workshop) -> None:
        """What the reactions arm within the span fires too, in the order of time, between what was armed before."""

        async def advance(by_ms: int) -> None:
            await workshop.timer.advance(by_ms, lambda: workshop.is_settled)

        workshop.send_at(100, "one", then=lambda: workshop.send_at(150, "one and a half"))
        workshop.send_at(200, "two", then=lambda: workshop.send_at(200, "two again, at once"))
        workshop.send_at(300, "three", then=lambda: workshop.send_at(401, "four, too late"))
        await advance(400)
        assert workshop.diary == [
            ("one", 100),
            ("one and a half", 150),
            ("two", 200),
            ("two again, at once", 200),
            ("three", 300),
        ]
        assert workshop.timer.now_ms() == 400
        await advance(1)
        assert workshop.diary[-1] == ("four, too late", 401)

    async def test_one_deadline_after_the_other(self, workshop: Workshop) -> None:
        """`advance_to_next` stops when the reactions to the next one have taken place, or at its limit."""
        workshop.send_at(100, "one", then=lambda: workshop.send_at(150, "one and a half"))
        workshop.send_at(5_000, "two")
        moved = [await workshop.timer.advance_to_next(1_000, lambda: workshop.is_settled) for _ in range(3)]
        assert moved == [100, 50, 1_000]
        assert workshop.diary == [("one", 100), ("one and a half", 150)]
        assert await workshop.timer.advance_to_next(10_000, lambda: workshop.is_settled) == 3_850

    async def test_what_was_on_its_way_before_comes_first(self, workshop: Workshop) -> None:
        """A message sent before the advance is worked off before time passes, and what it arms counts."""
        workshop.inbox.put_nowait(("before", lambda: workshop.send_at(50, "armed before")))
        await workshop.timer.advance(50, lambda: workshop.is_settled)
        assert workshop.diary == [("before", 0), ("armed before", 50)]

    async def test_what_is_due_at_once_needs_no_advance(self, workshop: Workshop) -> None:
        """A timeout of 0 ms while the time stands still: it fires in the next turn of the loop."""
        rung = asyncio.Event()
        workshop.timer.add(Alarm(rung.set), 0)
        assert not rung.is_set(), "never from within the call that arms it"
        async with asyncio.timeout(10):
            await rung.wait()
        assert (workshop.timer.now_ms(), workshop.timer.wake_ups) == (0, 1)

    async def test_while_time_stands_still_the_loop_is_not_woken(self, workshop: Workshop) -> None:
        """A deadline of 1 ms on the virtual clock, and nobody who moves it: no handle, so no wake-up, ever."""
        workshop.send_at(1, "tomorrow")
        assert workshop.timer._sleeper is not None
        assert workshop.timer._sleeper._handle is None
        assert workshop.timer.wake_ups == 0

    async def test_without_a_predicate_the_loop_turns_once_after_each_deadline(self, workshop: Workshop) -> None:
        """Enough for a callback or a future; deeper reactions need one."""
        futures = [asyncio.get_running_loop().create_future() for _ in range(3)]
        woken_at_ms = []

        async def wait_for(future: asyncio.Future[None]) -> None:
            await future
            woken_at_ms.append(workshop.timer.now_ms())

        async with asyncio.TaskGroup() as tasks:
            for number, future in enumerate(futures):
                tasks.create_task(wait_for(future))
                workshop.timer.add(Alarm(partial(future.set_result, None)), 10 * number + 10)
            await workshop.timer.advance(100)
        assert woken_at_ms == [10, 20, 30]

    async def test_many_that_are_due_together_fire_in_several_turns(self, workshop: Workshop) -> None:
        """What each of them sets off is done before the next lot, and others have their turn in between."""
        turns: list[int] = []

        async def watch() -> None:
            while workshop.timer.size:
                await asyncio.sleep(0)
                turns.append(workshop.timer.fired)

        for _ in range(3 * FIRED_MAX):
            workshop.timer.add(Alarm(lambda: None), 45_000)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            await workshop.timer.advance(60_000)
        assert {FIRED_MAX, 2 * FIRED_MAX, 3 * FIRED_MAX} <= set(turns)
        assert (workshop.timer.fired, workshop.timer.now_ms()) == (3 * FIRED_MAX, 60_000)

    async def test_one_advance_at_a_time(self, workshop: Workshop) -> None:
        """A second one while the first is under way is refused; after it the clock can be advanced again."""
        refused = []

        async def advance_too() -> None:
            try:
                await workshop.timer.advance(10)
            except RuntimeError as error:
                refused.append(str(error))

        async with asyncio.TaskGroup() as tasks:
            workshop.timer.add(Alarm(lambda: tasks.create_task(advance_too())), 10)
            await workshop.timer.advance(20, lambda: bool(refused) or workshop.timer.now_ms() < 10)
        assert refused == ["the clock is being advanced already; await that first"]
        await workshop.timer.advance(5)
        assert workshop.timer.now_ms() == 25

    async def test_a_program_that_never_settles_is_reported(
        self, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The advance gives up and says when it was, rather than hang; the clock can be advanced again."""
        monkeypatch.setattr(timer_module, "TURNS_MAX", 50)
        workshop.send_at(10, "one")
        with pytest.raises(RuntimeError, match="still not settled after 50 turns of the loop at 10 ms"):
            await workshop.timer.advance(100, lambda: workshop.timer.now_ms() < 10)
        await workshop.timer.advance(100)
        assert workshop.timer.now_ms() == 110

    async def test_an_error_goes_to_the_loop_and_harms_nobody_else(self, workshop: Workshop) -> None:
        """Its exception handler gets the error and the entry; the others due are worked off."""
        contexts: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: contexts.append(context))

        def fail() -> None:
            raise ZeroDivisionError

        broken = Alarm(fail)
        workshop.timer.add(broken, 10)
        workshop.send_at(10, "beside it")
        await workshop.timer.advance(10, lambda: workshop.is_settled)
        (context,) = contexts
        assert isinstance(context["exception"], ZeroDivisionError)
        assert (context["message"], context["entry"]) == ("Alarm failed", broken)
        assert workshop.diary == [("beside it", 10)]

    async def test_an_advance_that_is_cancelled_leaves_the_clock_where_it_was(self, workshop: Workshop) -> None:
        """Time has passed as far as it got, and the rest can be advanced later."""
        async with asyncio.TaskGroup() as tasks:
            advance = tasks.create_task(workshop.timer.advance(30, lambda: workshop.is_settled))
            workshop.send_at(10, "one", then=advance.cancel)
            workshop.send_at(20, "two")
        assert advance.cancelled()
        assert workshop.timer.now_ms() == 10
        await workshop.timer.advance(20, lambda: workshop.is_settled)
        assert workshop.diary == [("one", 10), ("two", 20)]

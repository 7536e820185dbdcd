"""The sleeper: one handle for all deadlines, armed for the earliest, on a loop that takes notes and on real ones."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
import uvloop

from ottla.purgatory import Alarm, SystemClock, Timer, TimerEntry
from ottla.purgatory.sleeper import Sleeper
from ottla.purgatory.timer import FIRED_MAX
from tests.purgatory.scene import Entry
from tests.support.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Story = Coroutine[Any, Any, None]
    Run = Callable[[Story], None]


class NotedHandle:
    def __init__(self, loop: NotedLoop, due_ms: float, callback: Callable[[], object]) -> None:
        self.loop = loop
        self.due_ms = due_ms
        self.callback = callback

    def cancel(self) -> None:
        self.loop.handles.remove(self)


class NotedLoop:
    """As much of a loop and of a clock as the sleeper uses, with handles that can be seen."""

    stands_still = False

    def __init__(self) -> None:
        self.time_ms = 0
        self.handles: list[NotedHandle] = []
        self.handles_made = 0

    def now_ms(self) -> int:
        return self.time_ms

    def wall_ms(self) -> int:
        return self.time_ms

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> NotedHandle:
        self.handles_made += 1
        self.handles.append(NotedHandle(self, self.time_ms + delay_s * 1000, callback))
        return self.handles[-1]

    def call_soon(self, callback: Callable[[], object]) -> NotedHandle:
        return self.call_later(0, callback)

    def run_until(self, time_ms: int) -> None:
        """Let the time pass and call what is due."""
        while due := [handle for handle in self.handles if handle.due_ms <= time_ms]:
            handle = min(due, key=lambda handle: handle.due_ms)
            self.time_ms = max(self.time_ms, round(handle.due_ms))
            self.handles.remove(handle)
            handle.callback()
        self.time_ms = time_ms


@pytest.fixture
def loop() -> NotedLoop:
    return NotedLoop()


@pytest.fixture
def timer(loop: NotedLoop) -> Timer:
    return Timer(loop, loop=cast("asyncio.AbstractEventLoop", loop))


class TestOnALoopThatTakesNotes:
    """How often the loop is asked for what."""

    def test_idle_means_no_handle(self, loop: NotedLoop, timer: Timer) -> None:
        """Neither before the first timer nor after the last, whether that fired or was cancelled."""
        assert loop.handles == []
        entry = Alarm(lambda: None)
        timer.add(entry, 10)
        assert [handle.due_ms for handle in loop.handles] == [10]
        timer.cancel(entry)
        assert loop.handles == []
        timer.add(entry, 15)
        loop.run_until(20)
        assert (timer.fired, loop.handles) == (1, [])

    def test_one_handle_is_armed_for_the_earliest(self, loop: NotedLoop, timer: Timer) -> None:
        """A later timer asks the loop for nothing, an earlier one for a new handle in place of the old."""
        rung: list[int] = []
        for deadline_ms in (15, 17, 12, 19, 12):
            timer.add(Alarm(lambda: rung.append(loop.time_ms)), deadline_ms)
            assert len(loop.handles) == 1
        assert (loop.handles[0].due_ms, loop.handles_made) == (12, 2)
        loop.run_until(30)
        assert rung == [12, 12, 15, 17, 19]
        assert timer.wake_ups == 4

    def test_asking_for_a_later_instant_changes_nothing(self, loop: NotedLoop) -> None:
        """Nor does asking for the same one."""
        event_loop = cast("asyncio.AbstractEventLoop", loop)
        sleeper = Sleeper(event_loop, loop, wake=lambda: None, next_deadline_ms=lambda: None)
        for due_ms in (10, 15, 10):
            sleeper.wake_by(due_ms)
        assert ([handle.due_ms for handle in loop.handles], loop.handles_made) == ([10], 1)

    def test_what_is_due_at_once_fires_in_the_next_turn(self, loop: NotedLoop, timer: Timer) -> None:
        """Ahead of whatever the sleeper was armed for."""
        loop.time_ms = 5
        timer.add(Entry(), 15)
        rung: list[int] = []
        timer.add(Alarm(lambda: rung.append(loop.time_ms)), 5)
        assert [handle.due_ms for handle in loop.handles] == [5]
        loop.run_until(5)
        assert rung == [5]
        assert [handle.due_ms for handle in loop.handles] == [15]

    def test_a_thousand_idle_sessions_wake_nobody_for_35_seconds(self, loop: NotedLoop, timer: Timer) -> None:
        """Armed for 45 s, postponed each 3 s: the loop is woken first when their buckets are due, once for each."""
        sessions = [Entry() for _ in range(1000)]
        for number, session in enumerate(sessions):
            timer.add(session, 45_000 + number)
        assert loop.handles_made == 1
        for beat_ms in range(3000, 35_000, 3000):
            loop.run_until(beat_ms)
            for session in sessions:
                timer.postpone(session, beat_ms + 45_000)
        assert (timer.wake_ups, loop.handles_made) == (0, 1)
        loop.run_until(41_000)
        assert (timer.wake_ups, timer.fired, timer.size) == (1, 0, 1000)

    def test_timers_that_fire_together_and_are_added_again_cost_one_handle(self, loop: NotedLoop, timer: Timer) -> None:
        """While the sleeper is awake nothing is armed; it sees to that when all are served."""

        class Beat(TimerEntry):
            def expire(self) -> None:
                timer.add(self, loop.time_ms + 10)

        for _ in range(FIRED_MAX):
            timer.add(Beat(), 10)
        loop.run_until(10)
        assert (timer.fired, timer.wake_ups, loop.handles_made) == (FIRED_MAX, 1, 2)
        assert [handle.due_ms for handle in loop.handles] == [20]

    def test_more_that_are_due_together_fire_in_several_turns(self, loop: NotedLoop, timer: Timer) -> None:
        """Whoever is woken by them has work to do, and others have their turn in between."""
        for _ in range(2 * FIRED_MAX + 1):
            timer.add(Alarm(lambda: None), 10)
        loop.time_ms = 10
        fired = []
        while loop.handles:
            loop.handles.pop().callback()
            fired.append(timer.fired)
        assert fired == [FIRED_MAX, 2 * FIRED_MAX, 2 * FIRED_MAX + 1]
        assert timer.size == 0

    def test_a_loop_that_calls_early_makes_nothing_fire_early(self, loop: NotedLoop, timer: Timer) -> None:
        """Woken 2 ms too soon it finds nothing due and sleeps on."""
        rung: list[int] = []
        timer.add(Alarm(lambda: rung.append(loop.time_ms)), 10)
        loop.time_ms = 8
        loop.handles.pop().callback()
        assert (rung, timer.wake_ups) == ([], 1)
        assert [handle.due_ms for handle in loop.handles] == [10]
        loop.run_until(10)
        assert rung == [10]

    def test_a_loop_that_calls_late_makes_all_fire_in_one_go(self, loop: NotedLoop, timer: Timer) -> None:
        """The loop was busy for 50 ms: everything due meanwhile fires in one wake-up, in order."""
        rung: list[int] = []
        for deadline_ms in (30, 10, 20, 41):
            timer.add(Alarm(partial(rung.append, deadline_ms)), deadline_ms)
        loop.time_ms = 50
        loop.run_until(50)
        assert (rung, timer.wake_ups, loop.handles) == ([10, 20, 30, 41], 1, [])

    def test_a_postponed_deadline_that_moves_ahead_is_armed(self, loop: NotedLoop, timer: Timer) -> None:
        """Postponing to an earlier instant is adding: the handle is armed anew."""
        entry = Alarm(lambda: None)
        timer.add(entry, 18)
        timer.postpone(entry, 12)
        assert [handle.due_ms for handle in loop.handles] == [12]
        timer.postpone(entry, 16)
        assert [handle.due_ms for handle in loop.handles] == [12], "later: the loop isn't asked"
        loop.run_until(15)
        assert (timer.fired, timer.wake_ups) == (0, 1)
        loop.run_until(16)
        assert timer.fired == 1

    def test_an_error_in_the_hook_itself_stops_neither_the_others_nor_the_sleeper(self, loop: NotedLoop) -> None:
        """It reaches the loop; who was due besides fires in the next turn."""

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        timer = Timer(loop, loop=cast("asyncio.AbstractEventLoop", loop), on_error=fail)
        rung: list[str] = []
        timer.add(Alarm(fail), 10)
        timer.add(Alarm(lambda: rung.append("beside it")), 10)
        with pytest.raises(ZeroDivisionError):
            loop.run_until(10)
        loop.run_until(10)
        assert (rung, loop.handles) == (["beside it"], [])

    def test_closing_leaves_no_handle_and_arms_none_again(self, loop: NotedLoop, timer: Timer) -> None:
        """What was pending is dropped, and later timers wake nobody. Kafka: SystemTimerReaperTest.testReaperClose."""
        timer.add(Entry(), 10)
        timer.close()
        timer.add(Entry(), 5)
        timer.close()
        assert loop.handles == []
        loop.run_until(100)
        assert (timer.fired, timer.wake_ups) == (0, 0)

    def test_closing_from_an_alarm_is_closing(self, loop: NotedLoop, timer: Timer) -> None:
        """Closed while it is awake, it doesn't arm itself again for what is left."""
        timer.add(Alarm(timer.close), 10)
        timer.add(Entry(), 50)
        loop.run_until(100)
        assert (timer.fired, timer.wake_ups, loop.handles) == (1, 1, [])


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on a loop of either kind, with a bound on how long."""

    def run(story: Story) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await story

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(bounded())

    return run


class Rings:
    """Alarms on a real loop, and when they rang."""

    def __init__(self) -> None:
        self.timer = Timer(SystemClock(), loop=asyncio.get_running_loop())
        self.early_ms: list[int] = []
        self.rung = 0
        self.wanted = 0
        self.are_all_rung = asyncio.Event()

    def add(self, deadline_ms: int, then: Callable[[], None] | None = None) -> Alarm:
        def ring() -> None:
            self.rung += 1
            if then is not None:
                then()
            if self.timer.now_ms() < deadline_ms:
                self.early_ms.append(deadline_ms - self.timer.now_ms())
            if self.rung == self.wanted:
                self.are_all_rung.set()

        self.wanted += 1
        alarm = Alarm(ring)
        self.timer.add(alarm, deadline_ms)
        return alarm


class TestOnRealLoops:
    """The same on asyncio's own loop and on uvloop, whose clock only moves between turns."""

    def test_no_alarm_rings_early_and_all_ring(self, run: Run) -> None:
        """Three hundred within 60 ms, half of them added while others ring.

        Kafka: SystemTimerReaperTest.testReaper.
        """

        async def story() -> None:
            rings = Rings()
            random_source = random.Random(3)
            start_ms = rings.timer.now_ms()
            for _ in range(150):
                rings.add(start_ms + random_source.randrange(60))

            def add_more() -> None:
                for _ in range(50):
                    rings.add(rings.timer.now_ms() + random_source.randrange(30))

            for after_ms in (5, 17, 29):
                rings.add(start_ms + after_ms, then=add_more)
            await rings.are_all_rung.wait()
            assert (rings.early_ms, rings.rung, rings.timer.size) == ([], 303, 0)

        run(story())

    def test_a_stale_loop_clock_makes_no_alarm_ring_early(self, run: Run) -> None:
        """The turn of the loop that arms the alarm has lasted long: a delay counted from its start is too short."""

        async def story() -> None:
            rings = Rings()
            turn_began_ms = rings.timer.now_ms()
            while rings.timer.now_ms() < turn_began_ms + 20:
                pass
            rings.add(rings.timer.now_ms() + 25)
            await rings.are_all_rung.wait()
            assert (rings.early_ms, rings.timer.size) == ([], 0)

        run(story())

    def test_what_is_due_in_one_turn_is_served_in_one_wake_up(self, run: Run) -> None:
        """Many alarms within 10 ms, and a loop too busy to serve them before all are due."""

        async def story() -> None:
            rings = Rings()
            last_ms = rings.timer.now_ms() + 10
            for number in range(FIRED_MAX):
                rings.add(last_ms - number % 10)
            while rings.timer.now_ms() < last_ms:
                pass
            await rings.are_all_rung.wait()
            assert (rings.early_ms, rings.timer.wake_ups) == ([], 1)

        run(story())

    def test_idle_means_no_wake_ups(self, run: Run) -> None:
        """While a thousand sessions wait for 45 s, and after the last one is gone, the loop turns without the timer."""

        async def story() -> None:
            rings = Rings()
            now_ms = rings.timer.now_ms()
            sessions = [rings.add(now_ms + 45_000) for _ in range(1000)]
            for _ in range(500):
                await asyncio.sleep(0)
            assert rings.timer.wake_ups == 0
            for session in sessions:
                rings.timer.cancel(session)
            rings.wanted = 1
            rings.timer.add(Alarm(rings.are_all_rung.set), now_ms)
            await rings.are_all_rung.wait()
            assert rings.timer._sleeper is not None
            assert rings.timer._sleeper._handle is None, "nothing will wake it but a new timer"
            for _ in range(500):
                await asyncio.sleep(0)
            assert (rings.timer.wake_ups, rings.timer.size) == (1, 0)

        run(story())

    def test_a_timer_shared_by_two_serves_the_second_after_the_first_is_gone(self, run: Run) -> None:
        """Kafka: SystemTimerReaperTest.testSharedTimerBetweenConsumers."""

        async def story() -> None:
            rings = Rings()
            now_ms = rings.timer.now_ms()
            leaving = rings.add(now_ms + 30_000)
            rings.add(now_ms + 5)
            rings.timer.cancel(leaving)
            rings.wanted -= 1
            await rings.are_all_rung.wait()
            rings.are_all_rung.clear()
            rings.add(rings.timer.now_ms() + 5)
            await rings.are_all_rung.wait()
            assert (rings.rung, rings.early_ms) == (2, [])

        run(story())

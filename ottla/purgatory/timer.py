"""The timer that everything with a deadline is armed through: a timing wheel that knows the time and is woken for it.

Three ways to drive it, one way to fire (`fire_due`):

- With a loop and the system clock a `Sleeper` wakes it for the next bucket that is due.
- With the virtual clock `await advance(ms)` moves the time from one deadline to the next, fires, and each time lets the
  loop run until the program has settled, so that what the reactions arm within the span fires too, in its turn. What is
  due at once, such as a timeout of 0 ms, fires in the next turn of the loop without the clock being moved.
- Without a loop, in a test of something pure, `advance_sync(ms)` does the same with nothing to wait for.

If the `expire` of an entry raises, the error goes to `on_error`, and the other due entries fire all the same. By
default `on_error` is the loop's exception handler. Without a loop the error is raised from the advance; the other due
entries stay in the wheel, and fire with the next advance.

While the virtual clock moves over days, periodic work that would find nothing is left out: see `skip_idle`.

With a loop, at most `FIRED_MAX` entries fire in one of its turns, because each may wake a task with work to do: when
thousands of sessions expire in the same millisecond, other tasks run in between.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ottla.purgatory.clock import VirtualClock
from ottla.purgatory.sleeper import Sleeper
from ottla.purgatory.timing_wheel import NEVER_MS, TimerEntry, TimingWheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ottla.purgatory.clock import Clock

TURNS_MAX: Final = 100_000
"""Turns of the loop that `advance` waits for the program to settle before it gives up: a second or more."""

FIRED_MAX: Final = 64
"""Entries that fire in one turn of the loop."""


class Alarm(TimerEntry):
    """A timer entry that calls a function."""

    __slots__ = ("_callback", "about")

    def __init__(self, callback: Callable[[], object], about: str = "") -> None:
        """`about`: its purpose, for listings of timers."""
        super().__init__()
        self._callback = callback
        self.about = about

    def expire(self) -> None:
        self._callback()

    @property
    def name(self) -> str:
        return getattr(self._callback, "__qualname__", super().name)


class Periodic(Alarm):
    """An alarm of periodic work. It causes nothing but by its work."""

    __slots__ = ()


class Timer(TimingWheel):
    """Add, postpone and cancel entries here; each gets its `expire` called at its deadline, never before.

    Late it can be by what the loop is busy with, and by a millisecond. Deadlines are instants of `now_ms()`.
    """

    __slots__ = ("_advance_end_ms", "_is_advancing", "_loop", "_sleeper", "clock", "fired", "on_error")

    def __init__(
        self,
        clock: Clock,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        on_error: Callable[[Exception, TimerEntry], None] | None = None,
    ) -> None:
        """`loop`: wakes the timer; None: only `fire_due` and `advance_sync` fire entries."""
        super().__init__(clock.now_ms())
        self.clock = clock
        self.fired = 0
        """Entries that expired so far."""
        self.on_error = on_error or self._raise_or_tell_loop
        """Called with the error of an entry, and the entry; other entries fire all the same."""
        self._loop = loop
        self._is_advancing = False
        #: How far the clock is being moved; None: it is not.
        self._advance_end_ms: int | None = None
        self._sleeper: Sleeper | None = None
        if loop is not None:
            self._sleeper = Sleeper(loop, clock, wake=self.fire_due, next_deadline_ms=self.next_deadline_ms)

    @property
    def wake_ups(self) -> int:
        """How often the loop was woken for it."""
        return 0 if self._sleeper is None else self._sleeper.wake_ups

    def now_ms(self) -> int:
        """The time, in the sense of deadlines."""
        return self.clock.now_ms()

    def add(self, entry: TimerEntry, deadline_ms: int) -> int:
        due_ms = super().add(entry, deadline_ms)
        sleeper = self._sleeper
        if sleeper is not None and due_ms < sleeper.armed_ms:
            sleeper.wake_by(due_ms)
        return due_ms

    def add_in(self, entry: TimerEntry, delay_ms: int) -> None:
        """Fire an entry after `delay_ms`. An entry beyond the largest instant is not added, or not pending any more.

        Settings may say up to 2**63 - 1 ms, which means "never".
        """
        deadline_ms = self.now_ms() + delay_ms
        if deadline_ms < NEVER_MS:
            self.add(entry, deadline_ms)
        else:
            self.cancel(entry)

    def cancel(self, entry: TimerEntry) -> bool:
        was_pending = super().cancel(entry)
        if not self.size and self._sleeper is not None:
            self._sleeper.rest()
        return was_pending

    def fire_due(self) -> int:
        """Expire the entries that are due now, with a loop no more than `FIRED_MAX`, and return how many were."""
        fired_before = self.fired
        fired_end = None if self._loop is None else fired_before + FIRED_MAX
        for entry in self.due(self.clock.now_ms()):
            self.fired += 1
            try:
                entry.expire()
            except Exception as error:
                self.on_error(error, entry)
            if self.fired == fired_end:
                break
        return self.fired - fired_before

    def skip_idle(self, entry: Periodic, interval_ms: int, has_work: Callable[[int], bool]) -> bool:
        """While the virtual clock is being moved: leave out the rounds of this entry, which is due, that find no work.

        `has_work(in_ms)` says whether a round would find any so much later if nothing else happened until then. What it
        says True of once, it must say True of from then on. The entry is armed anew: for its first round with work, or
        for the first one after whatever else is due, which may make work. The rounds keep to multiples of the interval
        from now. False: there is work now, or the clock is not being moved; then nothing is armed.
        """
        if self._advance_end_ms is None or has_work(0):
            return False
        now_ms = self.now_ms()
        others = (other.deadline_ms for other in self.pending() if not isinstance(other, Periodic))
        quiet_ms = min(self._advance_end_ms, min(others, default=NEVER_MS)) - now_ms
        idle, rounds = 0, max(1, -(-quiet_ms // interval_ms))
        if has_work(rounds * interval_ms):
            while rounds - idle > 1:
                middle = (idle + rounds) // 2
                idle, rounds = (idle, middle) if has_work(middle * interval_ms) else (middle, rounds)
        self.add_in(entry, rounds * interval_ms)
        return True

    async def advance(self, by_ms: int, settled: Callable[[], bool] | None = None) -> None:
        """Move the virtual clock `by_ms` onwards, firing each deadline at its own time.

        `settled()` says whether the program has finished reacting: it must be False as long as work is on its way, such
        as a message in an inbox. Before the start and after each deadline the loop turns, at least once, until it is
        True; None: one turn is enough.
        """
        if self._is_advancing:
            raise RuntimeError("the clock is being advanced already; await that first")
        self._is_advancing = True
        try:
            await self._settle(settled)
            for _ in self._advance_by(by_ms):
                await self._settle(settled)
        finally:
            self._is_advancing = False

    async def advance_to_next(self, limit_ms: int, settled: Callable[[], bool] | None = None) -> int:
        """Move the virtual clock to the next deadline at which anything fires, by `limit_ms` at most.

        Otherwise as `advance`. Returns by how much it was moved.
        """
        if self._is_advancing:
            raise RuntimeError("the clock is being advanced already; await that first")
        self._is_advancing = True
        began_ms = self.now_ms()
        try:
            await self._settle(settled)
            for _ in self._advance_by(limit_ms):
                await self._settle(settled)
                break
        finally:
            self._is_advancing = False
        return self.now_ms() - began_ms

    def advance_sync(self, by_ms: int) -> None:
        """Move the virtual clock `by_ms` onwards where nothing runs on a loop."""
        for _ in self._advance_by(by_ms):
            pass

    def close(self) -> None:
        """Stop. Pending entries are dropped: they neither fire nor complete."""
        if self._sleeper is not None:
            self._sleeper.close()

    def _advance_by(self, by_ms: int) -> Iterator[None]:
        """Step through the deadlines of a span of time; after each yield the caller lets reactions take place."""
        clock = self.clock
        if not isinstance(clock, VirtualClock):
            raise TypeError(f"only a VirtualClock can be advanced, not {type(clock).__name__}")
        if by_ms < 0:
            raise ValueError(f"time doesn't go back: by_ms={by_ms}")
        end_ms = self._advance_end_ms = clock.now_ms() + by_ms
        try:
            while (due_ms := self.next_deadline_ms()) is not None and due_ms <= end_ms:
                clock.move_to(due_ms)
                if self.fire_due():
                    yield
            clock.move_to(end_ms)
        finally:
            self._advance_end_ms = None

    async def _settle(self, settled: Callable[[], bool] | None) -> None:
        for _ in range(TURNS_MAX):
            await asyncio.sleep(0)
            if settled is None or settled():
                return
        raise RuntimeError(f"still not settled after {TURNS_MAX} turns of the loop at {self.now_ms()} ms")

    def _raise_or_tell_loop(self, error: Exception, entry: TimerEntry) -> None:
        if self._loop is None:
            raise error
        self._loop.call_exception_handler(
            {"message": f"{type(entry).__name__} failed", "exception": error, "entry": entry}
        )

"""Periodic tasks: a run of the work, a pause, the next run.

A run is a job in the background, or done at once, and never begins before the last one is over. A failed run is told,
once, and repeated after a longer and longer pause.

However short the interval is set, there is a pause: without one no other task would get a turn, and an `advance` of
the virtual clock by an hour would not come to an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of
from ottla.purgatory import Periodic

if TYPE_CHECKING:
    from ottla.broker.upkeep.background import Background
    from ottla.events.stream import Stream
    from ottla.log.job import Job
    from ottla.purgatory import Timer

#: The shortest pause, be a setting shorter.
PAUSE_MS_MIN: Final = 100


class PeriodicTask:
    """One task that is repeated."""

    def __init__(
        self,
        timer: Timer,
        background: Background,
        events: Stream,
        name: str,
        work: Callable[[], Job | None],
        interval_ms: Callable[[], int],
        has_work: Callable[[int], bool] = lambda _in_ms: True,
    ) -> None:
        """`work`: begins a run; its result is the job that is left for the background, or None.

        `has_work`: as for `Timer.skip_idle`.
        """
        self._timer = timer
        self._background = background
        self._events = events
        self._name = name
        self._work = work
        self._interval_ms = interval_ms
        self._has_work = has_work
        self._alarm = Periodic(self._begin, name)
        self._setbacks: Setbacks[str] = Setbacks(timer.now_ms)

    def start(self, first_ms: int | None = None) -> None:
        """Begin the first run in `first_ms`; None: after the usual pause."""
        self._pause(self._interval_ms() if first_ms is None else first_ms)

    def _begin(self) -> None:
        interval_ms = max(PAUSE_MS_MIN, self._interval_ms())
        is_resting = self._setbacks.backoff_ms(self._name) > 0
        try:
            if not is_resting and self._timer.skip_idle(self._alarm, interval_ms, self._has_work):
                return
            job = self._work()
        except Exception as error:
            self._ended(error)
        else:
            if job is None:
                self._ended(None)
            else:
                self._background.start(job, self._name, self._ended)

    def _ended(self, error: Exception | None) -> None:
        name = self._name
        if error is None:
            if self._setbacks.went_well(name):
                self._events.tell(Kind.ROUND_RECOVERED, work=name)
        elif self._setbacks.failed(name, error):
            self._events.tell(Kind.ROUND_FAILED, raised=error, work=name, reason=reason_of(error))
        self._pause(max(PAUSE_MS_MIN, self._interval_ms(), self._setbacks.backoff_ms(name)))

    def _pause(self, pause_ms: int) -> None:
        self._timer.add_in(self._alarm, pause_ms)

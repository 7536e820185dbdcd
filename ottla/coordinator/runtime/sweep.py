"""An event that every machine is sent once an interval. While there are no machines nothing wakes up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ottla.coordinator.runtime.owner import Owner
from ottla.purgatory import Periodic, Timer


def send(event: object, owner: Owner[Any]) -> None:
    """Send a machine an event, to be done now unless something else is under way."""
    if not owner.is_ended:
        owner.post(event)
        if not owner.is_at_work:
            owner.drain()


class Sweep:
    """Sends all machines of a node an event at each multiple of the interval since the start."""

    def __init__(
        self,
        event: object,
        interval_ms: int,
        has_work: Callable[[Any, int], bool],
        owners: Mapping[str, Owner[Any]],
        timer: Timer,
        start: Callable[[Iterator[None]], None],
    ) -> None:
        """`start`: takes up what is long and can be done in steps. `has_work`: whether the event would cause anything
        in a machine at this date.
        """
        self._event = event
        self._interval_ms = interval_ms
        self._owners = owners
        self._timer = timer
        self._start = start
        self._has_work = has_work
        self._alarm = Periodic(self._send, "sweep")
        self._began_ms = timer.now_ms()

    def keep_going(self) -> None:
        """Arm the alarm, if there are machines and it isn't armed."""
        if self._owners and not self._alarm.is_pending:
            intervals = (self._timer.now_ms() - self._began_ms) // self._interval_ms + 1
            self._timer.add_in(self._alarm, self._began_ms + intervals * self._interval_ms - self._timer.now_ms())

    def stop(self) -> None:
        self._timer.cancel(self._alarm)

    def _send(self) -> None:
        """No round begins before the one before it is over."""
        if not self._timer.skip_idle(self._alarm, self._interval_ms, self._would_find_work):
            self._start(self._steps())

    def _would_find_work(self, in_ms: int) -> bool:
        now_ms = self._timer.clock.wall_ms() + in_ms
        return any(self._has_work(owner.machine, now_ms) for owner in self._owners.values())

    def _steps(self) -> Iterator[None]:
        try:
            for owner in list(self._owners.values()):
                send(self._event, owner)
                yield
        finally:
            self.keep_going()

"""Sleeps on the event loop until the next deadline, with one handle however many deadlines there are.

The handle is armed for the earliest instant asked for; asking for a later one changes nothing, asking for an earlier
one arms it anew. With nothing to wait for there is no handle, and the loop is never woken. While it is awake nothing is
armed at all: the timer that was woken says at the end when to be woken next, so a thousand timers that fire together
and are added again cost one handle.

Waking may come early, never with consequences: uvloop counts a delay from its own clock, which is as old as the current
turn of the loop. The timer then asks the clock what is due, finds nothing, and sleeps the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.purgatory.timing_wheel import NEVER_MS

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Handle
    from collections.abc import Callable

    from ottla.purgatory.clock import Clock

_AWAKE_MS: Final = -1  # both are earlier than any instant asked for, so nothing is armed
_CLOSED_MS: Final = -2


class Sleeper:
    """Calls `wake` when the time comes, and after each call asks `next_deadline_ms` until when to sleep on."""

    __slots__ = ("_clock", "_handle", "_loop", "_next_deadline_ms", "_wake", "armed_ms", "wake_ups")

    def __init__(
        self,
        loop: AbstractEventLoop,
        clock: Clock,
        *,
        wake: Callable[[], object],
        next_deadline_ms: Callable[[], int | None],
    ) -> None:
        self.armed_ms = NEVER_MS
        """When it will wake by itself; only an earlier instant needs asking for."""
        self.wake_ups = 0
        """How often the loop has woken it."""
        self._loop = loop
        self._clock = clock
        self._wake = wake
        self._next_deadline_ms = next_deadline_ms
        self._handle: Handle | None = None

    def wake_by(self, due_ms: int) -> None:
        """Wake at `due_ms`, if not before; in the next turn of the loop if that is past."""
        if due_ms >= self.armed_ms:
            return
        delay_ms = due_ms - self._clock.now_ms()
        if delay_ms > 0 and self._clock.stands_still:
            return  # moving the clock looks what is due then
        self.rest()
        self.armed_ms = due_ms
        if delay_ms > 0:
            self._handle = self._loop.call_later(delay_ms / 1000, self._wake_up)
        else:
            self._handle = self._loop.call_soon(self._wake_up)

    def rest(self) -> None:
        """There is nothing left to wait for: sleep until asked again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self.armed_ms = NEVER_MS

    def close(self) -> None:
        """Never wake again, whatever is asked."""
        self.rest()
        self.armed_ms = _CLOSED_MS

    def _wake_up(self) -> None:
        self.wake_ups += 1
        self._handle = None
        self.armed_ms = _AWAKE_MS
        try:
            self._wake()
        finally:
            if self.armed_ms == _AWAKE_MS:  # and not closed by what it woke
                self.armed_ms = NEVER_MS
                due_ms = self._next_deadline_ms()
                if due_ms is not None:
                    self.wake_by(due_ms)

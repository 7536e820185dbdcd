"""The virtual clock in a test's hands: by so much, to the next deadline, until something is so.

    kafka.advance(45_000)                                                   # every session of 45 s is over now
    kafka.advance_until(lambda: kafka.group("kitchen").state == "Empty", limit_ms=60_000)
    kafka.next_deadline(kind="session")                                     # session of ana-1f0c of kitchen in 9500 ms

Only the broker's time moves: clients' heartbeats, back-off and max.poll.interval.ms are real. docs/time.md has more.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.deadlines import Deadline

T = TypeVar("T")


class Deadlines:
    """The deadlines of a broker. A subclass has `look`, the way inside."""

    def deadlines(self, *, kind: str | None = None, group: str | None = None) -> list[Deadline]:
        """The deadlines that the broker waits for, of this kind and group, the next one first.

        kind: session, join, sync, fetch, produce, round or other.
        """
        from ottla.control.state.deadlines import deadlines

        found: list[Deadline] = self.look(lambda broker: deadlines(broker.server.services, broker.server.timer))
        return [deadline for deadline in found if kind in (None, deadline.kind) and group in (None, deadline.group_id)]

    def next_deadline(self, *, kind: str | None = None, group: str | None = None) -> Deadline | None:
        """The first of `deadlines`, or None."""
        return next(iter(self.deadlines(kind=kind, group=group)), None)

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this function in the broker's event loop and return its result."""
        raise NotImplementedError


class Clockwork(Deadlines):
    """The part of `Broker` that has to do with time."""

    def advance(self, ms: int) -> None:
        """Move the virtual clock by `ms` milliseconds; returns when all due work is done, in its order."""
        self._move(lambda broker: broker.time.advance(ms))

    def advance_until(self, condition: Callable[[], bool], *, limit_ms: int) -> int:
        """Move the virtual clock from deadline to deadline until the condition is true; returns the time moved.

        It is called in this thread before the start and after each deadline, when the broker has settled. Raises
        `NotInTime` when it is still false after `limit_ms`.
        """
        moved_ms = 0
        while not condition():
            if moved_ms >= limit_ms:
                from ottla.control.state.waiting import NotInTime

                name = getattr(condition, "__qualname__", repr(condition))
                raise NotInTime(f"moved time by {limit_ms} ms in vain for {name}; next: {self.next_deadline()}")
            left_ms = limit_ms - moved_ms
            moved_ms += self._move(lambda broker, left_ms=left_ms: broker.time.advance_to_next(left_ms))  # type: ignore[misc]
        return moved_ms

    # --- the way inside ---

    def _move(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> T:
        """Have the clock moved, however long that takes."""
        raise NotImplementedError

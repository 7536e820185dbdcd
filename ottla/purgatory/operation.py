"""A delayed operation: an answer that waits for a condition, at most until a deadline, and is given exactly once.

The first of three completes it: an event after which `try_complete` finds the condition true, a caller that will not
wait any longer (`force_complete`), or the deadline. All of them call `force_complete`, which acts on the first call
only. So `on_complete` runs once, and is the only place that gives an answer. If the deadline completed it,
`on_expiration` runs after that.

A subclass has the condition and the answer:

    class DelayedFetch(DelayedOperation):
        __slots__ = ("fetch",)

        def try_complete(self) -> bool:
            return self.fetch.readable_bytes() >= self.fetch.min_bytes and self.force_complete()

        def on_complete(self) -> None:
            self.fetch.answer()

Everything happens in one thread and nothing here awaits, so there is no lock and no state between waiting and
completed. Kafka: org.apache.kafka.server.purgatory.DelayedOperation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, Protocol

from ottla.purgatory.timing_wheel import NEVER_MS, TimerEntry


class WaitingRoom(Protocol):
    """What an operation knows of the purgatory it waits in."""

    #: Operations that their deadline has completed so far.
    expired: int

    def let_go(self, operation: Any, /) -> None:
        """An operation is completed, and about to run its `on_complete`."""


class DelayedOperation(TimerEntry):
    """What waits in a `Purgatory`. Subclasses may have slots or not, and must not compare by value."""

    __slots__ = ("_is_delayed", "_purgatory", "_watch_count", "is_completed")

    is_completed: bool
    """True from the first call of `force_complete`, before `on_complete` has run."""
    _purgatory: WaitingRoom | None
    """Where it waits, or has waited; None: it never did."""
    _is_delayed: bool
    """Whether its purgatory has armed its deadline and counts it as delayed."""
    _watch_count: int
    """In how many lists of watchers it stands, completed or not."""

    def __init__(self, deadline_ms: int | None) -> None:
        """`deadline_ms`: the instant at which it completes at the latest; None: never."""
        super().__init__(NEVER_MS if deadline_ms is None else deadline_ms)
        self.is_completed = False
        self._purgatory = None
        self._is_delayed = False
        self._watch_count = 0

    @abstractmethod
    def try_complete(self) -> bool:
        """Test the condition; if it holds, return `force_complete()`, else False.

        It is called any number of times, also after completion, and changes nothing while the condition is false.
        """

    def try_complete_for(self, key: Hashable) -> bool:
        """`try_complete` after an event on `key`. With many keys, it may be overridden to check this one only."""
        return self.try_complete()

    @abstractmethod
    def on_complete(self) -> None:
        """Give the answer. Runs exactly once; if it raises, the operation is completed all the same."""

    def on_expiration(self) -> None:
        """Runs after `on_complete` if the deadline completed the operation."""

    def force_complete(self) -> bool:
        """Complete it now, whether or not the condition holds. True for the caller that did it, else False."""
        if self.is_completed:
            return False
        self.is_completed = True
        if self._purgatory is not None:
            self._purgatory.let_go(self)
        self.on_complete()
        return True

    def expire(self) -> None:
        if self.is_completed:
            return
        if self._purgatory is not None:
            self._purgatory.expired += 1
        if self.force_complete():
            self.on_expiration()

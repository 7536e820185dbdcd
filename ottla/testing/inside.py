"""The way into a running broker, for what `kafka.group(...)`, `kafka.topic(...)` and the rest are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from ottla.broker.faults.engine import Faults
    from ottla.broker.server import Server
    from ottla.broker.state.conditions import Condition
    from ottla.broker.state.timeline import Timeline

T = TypeVar("T")

#: How long waits last, unless they are told.
TIMEOUT_S = 10.0


class Inside(Protocol):
    """What runs in the broker's event loop for somebody outside."""

    def look(self, at: Callable[[Server], T], /) -> T:
        """Call this there and return what it returns, at once."""

    def wait(self, condition: Condition[T], timeout_s: float, /) -> T:
        """Return what there is when the condition holds. Raises `NotInTime`."""

    def wait_in_loop(self, condition: Condition[T], timeout_s: float, /) -> Awaitable[T]:
        """The same for a test that has an event loop of its own, which goes on meanwhile."""

    def run(self, work: Callable[[Server], Coroutine[Any, Any, T]], /) -> T:
        """Run a coroutine there and return what it returns."""

    def run_in_loop(self, work: Callable[[Server], Coroutine[Any, Any, T]], /) -> Awaitable[T]:
        """Have a coroutine run there while the test's own event loop goes on."""

    def timeline_since(self, mark: int, /) -> Timeline:
        """What has happened since this mark."""


class Engine(Protocol):
    """The way to the broker's faults and holds."""

    def in_loop(self, function: Callable[[], T], /) -> T:
        """Call this there and return what it returns; by whoever is there already, too."""

    @property
    def engine(self) -> Faults:
        """The broker's own end of faults and holds; for its loop alone."""

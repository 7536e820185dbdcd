"""The way into a running broker, for what `kafka.group(...)`, `kafka.topic(...)` and the rest are made of."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.conditions import Condition
    from ottla.control.state.timeline import Timeline

T = TypeVar("T")

_TIMEOUT_S_DEFAULT: Final = "10"


def _timeout_s() -> float:
    """What the environment says of slow machines. Raises `ValueError`."""
    text = os.environ.get("OTTLA_TIMEOUT_S") or _TIMEOUT_S_DEFAULT
    try:
        timeout_s = float(text)
    except ValueError:
        timeout_s = 0.0
    if not 0 < timeout_s <= TIMEOUT_S_MAX:
        raise ValueError(f"OTTLA_TIMEOUT_S={text} is not a number of seconds above 0 and up to {TIMEOUT_S_MAX}")
    return timeout_s


#: A day. More is a mistake, such as milliseconds.
TIMEOUT_S_MAX: Final = 86_400
#: How long waits last, unless they are told; OTTLA_TIMEOUT_S says it for a whole run.
TIMEOUT_S: Final = _timeout_s()


class Looks(Protocol):
    """Can look into a broker."""

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this in its event loop and return what it returns, at once."""


class Sees(Looks, Protocol):
    """Can look at its events as well."""

    def timeline_since(self, mark: int, /) -> Timeline:
        """What has happened since this mark."""


class Inside(Sees, Protocol):
    """Runs functions and coroutines in the broker's event loop, for a caller outside."""

    def wait(self, condition: Condition[T], timeout_s: float, /) -> T:
        """Wait until the condition is true, and return its result. Raises `NotInTime`."""

    def wait_in_loop(self, condition: Condition[T], timeout_s: float, /) -> Awaitable[T]:
        """The same for a test that has an event loop of its own, which goes on meanwhile."""

    def run(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]], /) -> T:
        """Run a coroutine there and return what it returns."""

    def run_in_loop(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]], /) -> Awaitable[T]:
        """Have a coroutine run there while the test's own event loop goes on."""

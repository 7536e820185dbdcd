"""Waiting for something in the broker, with a bound, and with words for what was there instead.

A test's thread waits for the broker's; a program with an event loop of its own awaits it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.inside import Engine


class NeverHappened(AssertionError):
    """What was waited for has not come; the text says what has."""


class Waiting:
    """One wait."""

    def __init__(
        self, broker: Engine, register: Callable[[Callable[[], object]], object], instead: Callable[[], str]
    ) -> None:
        """`register`: gets what is to be called when it is there. `instead`: what was there until now. Both are called
        in the broker's loop.
        """
        self._broker = broker
        self._instead = instead
        self._future: Future[None] = Future()

        def done() -> None:
            if not self._future.done():
                self._future.set_result(None)

        broker.in_loop(lambda: register(done))

    def wait(self, timeout: float) -> None:
        """Return when it is there. Raises `NeverHappened`."""
        try:
            self._future.result(timeout)
        except TimeoutError:
            self._fail(timeout)

    async def wait_async(self, timeout: float) -> None:  # noqa: ASYNC109  # as its sibling has it
        """The same for who has an event loop."""
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._future), timeout)
        except TimeoutError:
            self._fail(timeout)

    def _fail(self, timeout: float) -> None:
        raise NeverHappened(f"within {timeout:g} s: {self._broker.in_loop(self._instead)}") from None

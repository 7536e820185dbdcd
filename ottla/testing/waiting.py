"""Waiting for something in the broker, with a bound, and with words for what was there instead.

A test's thread waits for the broker's; a program with an event loop of its own awaits it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from ottla.testing.inside import Looks


class Waiting:
    """One wait."""

    def __init__(
        self, inside: Looks, register: Callable[[Callable[[], object]], object], instead: Callable[[], str]
    ) -> None:
        """`register`: gets what is to be called when it is there. `instead`: what was there until now. Both are called
        in the broker's loop.
        """
        self._inside = inside
        self._instead = instead
        self._future: Future[None] = Future()

        def done() -> None:
            if not self._future.done():
                self._future.set_result(None)

        inside.look(lambda _: register(done))

    def wait(self, timeout_s: float) -> None:
        """Return when it is there. Raises `NotInTime`."""
        try:
            self._future.result(timeout_s)
        except TimeoutError:
            self._fail(timeout_s)

    async def wait_async(self, timeout_s: float) -> None:
        """The same for who has an event loop."""
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.wrap_future(self._future)
        except TimeoutError:
            self._fail(timeout_s)

    def _fail(self, timeout_s: float) -> NoReturn:
        from ottla.control.state.waiting import NotInTime

        raise NotInTime(f"waited {timeout_s:g} s in vain; {self._inside.look(lambda _: self._instead())}") from None

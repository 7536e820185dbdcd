"""Time that goes by itself: when every client waits and somebody waits for a deadline of the broker's, it is reached.

Every client waits when for a while of real time, the threshold, nothing has come from any connection, and nothing in
the broker is under way. Somebody waits for a deadline when a request is parked that has one: a fetch, a produce, a
member that joins or syncs. Then the clock jumps to the next deadline there is, whatever it is.

A client that computes looks like one that waits, and heartbeats come in real time: docs/time.md says what follows.
Looking costs a wake-up for each threshold, so this is there only where it was asked for.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ottla.broker.lifecycle.stopping import Stopping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ottla.broker.lifecycle.assembly import Assembly
    from ottla.broker.network.connection import Connection
    from ottla.control.changes.clock_hand import ClockHand

#: For how long nothing must have come, unless somebody says otherwise.
AUTOJUMP_THRESHOLD_MS: Final = 50


class AutoJump:
    """Jumps for one broker, until its task is cancelled."""

    def __init__(
        self, parts: Assembly, hand: ClockHand, connections: Callable[[], Iterable[Connection]], threshold_ms: int
    ) -> None:
        self._parts = parts
        self._hand = hand
        self._connections = connections
        self._threshold_ms = threshold_ms

    async def run(self) -> None:
        """Jump whenever that is due. Ends when the broker is being stopped."""
        while True:
            await asyncio.sleep(self._threshold_ms / 1000)
            due_ms = self._parts.timer.next_deadline_ms()
            if due_ms is None or not self._everybody_waits() or not self._is_request_parked():
                continue
            try:
                await self._hand.advance_to_next(due_ms - self._parts.timer.now_ms())
            except Stopping:
                return

    def _everybody_waits(self) -> bool:
        was_active = [connection.take_activity() for connection in self._connections()]
        return self._parts.services.is_settled and not any(was_active)

    def _is_request_parked(self) -> bool:
        """Whether somebody waits who has a deadline."""
        return any(one.holds_requests and one.purgatory.delayed for one in self._parts.services.purgatories)

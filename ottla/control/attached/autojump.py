"""Time that passes by itself: when all clients wait, and one of them for a deadline, the clock jumps to the next one.

All clients wait when for a while of real time, the threshold, nothing has come from any connection, and the broker has
no work left. A client waits for a deadline when a request is parked that has one: a fetch, a produce, a member that
joins or syncs. Then the clock jumps to the next deadline there is, whatever it is.

A client that computes looks like one that waits, and heartbeats come in real time: docs/time.md says what follows.
Looking costs a wake-up for each threshold, so this is attached only where it is asked for.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ottla.broker.lifecycle.attachment import Attachment
from ottla.control.state.stopping import Stopping

if TYPE_CHECKING:
    from ottla.broker.lifecycle.server import Server
    from ottla.control.changes.virtual_time import VirtualTime


class AutoJump(Attachment):
    """Moves the clock of one broker from its start until it stops."""

    #: Nothing here is left to do while the clock stands: what is due has been done.
    is_settled = True

    def __init__(self, server: Server, time: VirtualTime, threshold_ms: int) -> None:
        self._server = server
        self._time = time
        self._threshold_ms = threshold_ms
        self._running: asyncio.Task[None] | None = None

    def started(self) -> None:
        """Begin to jump."""
        self._running = self._server.parts.tasks.create_task(self._run(), name="autojump")
        self._server.services.enter(self)

    def close(self) -> None:
        """End: the broker is stopping."""
        if self._running is not None:
            self._running.cancel()

    async def _run(self) -> None:
        timer = self._server.timer
        while True:
            await asyncio.sleep(self._threshold_ms / 1000)
            due_ms = timer.next_deadline_ms()
            if due_ms is None or not self._all_wait() or not self._is_request_parked():
                continue
            try:
                await self._time.advance_to_next(due_ms - timer.now_ms())
            except Stopping:
                return

    def _all_wait(self) -> bool:
        was_active = [connection.take_activity() for connection in self._server.connections]
        return self._server.services.is_settled and not any(was_active)

    def _is_request_parked(self) -> bool:
        """Whether a request waits that has a deadline."""
        return any(one.holds_requests and one.purgatory.delayed for one in self._server.services.purgatories)

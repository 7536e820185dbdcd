"""A broker's virtual time, moved from outside: by a number of milliseconds, to the next deadline, or until a condition
holds.

Moves wait for each other. Each deadline on the way has its consequences at its own time, and the broker has settled
when a move is over. Clients live in real time: what they do about it comes later. So nothing is read from them while
the clock moves, or a heartbeat that comes just then would count half-way and keep a session alive.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.control.state.stopping import Stopping
from ottla.control.state.waiting import NotInTime
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ottla.broker.lifecycle.server import Server
    from ottla.control.state.conditions import Condition

T = TypeVar("T")

#: For how long of the machine's time one move may hold the clients.
MOVE_SECONDS_MAX: Final = 20.0


class _TookTooLong(Exception):
    """Raised between two deadlines, and caught where the move began."""


class VirtualTime:
    """Moves the clock of one broker. Each method raises `Stopping` at the deadline at which the broker is stopped.

    A move that takes the machine longer than `MOVE_SECONDS_MAX` ends at the deadline that it has come to, with
    `NotInTime`: clients are served again, and time stands still there.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._moving = asyncio.Lock()
        #: When the move under way has taken too long, in seconds of the machine's time.
        self._give_up_at = 0.0

    async def advance(self, ms: int) -> None:
        """Move it on; returns when all due work is done, each part at its own time."""
        async with self._moving:
            self._keep_date(ms)
            async with self._clients_held(ms):
                await self._server.timer.advance(ms, settled=self._is_settled)
            self._server.events.tell(Kind.TIME_ADVANCED, ms=ms)

    async def advance_to_next(self, limit_ms: int) -> int:
        """Move it to the next deadline, by `limit_ms` at most; returns by how much."""
        async with self._moving:
            return await self._to_next(limit_ms)

    async def advance_until(self, condition: Condition[T], limit_ms: int) -> T:
        """Move it from deadline to deadline until the condition holds, and return what there is then.

        Raises `NotInTime` when it does not hold after `limit_ms`.
        """
        left_ms = limit_ms
        async with self._moving:
            while not condition.holds(found := condition.look(self._server.parts)):
                if left_ms <= 0:
                    told = condition.told(found)
                    raise NotInTime(f"moved time by {limit_ms} ms in vain for {condition.said}; {told}")
                left_ms -= await self._to_next(left_ms)
        return found

    async def _to_next(self, limit_ms: int) -> int:
        self._keep_date(limit_ms)
        async with self._clients_held(limit_ms):
            moved_ms = await self._server.timer.advance_to_next(limit_ms, settled=self._is_settled)
        self._keep_date(0)
        self._server.events.tell(Kind.TIME_ADVANCED, ms=moved_ms)
        return moved_ms

    @asynccontextmanager
    async def _clients_held(self, ms: int) -> AsyncIterator[None]:
        """For a move by `ms`. Requests that have come until now are served before the move. Those that come meanwhile
        are served after it, and so are those that wait for the answer to an earlier request of their connection.
        """
        timer = self._server.timer
        self._give_up_at = perf_counter() + MOVE_SECONDS_MAX
        began_ms = timer.now_ms()
        try:
            await timer.advance(0, settled=self._is_settled)
            self._server.hold_clients(True)
            yield
        except _TookTooLong:
            raise NotInTime(
                f"moved time by {timer.now_ms() - began_ms} of {ms} ms in {MOVE_SECONDS_MAX:.0f} s, and stopped there: "
                "too much is due on the way; move time in several steps"
            ) from None
        finally:
            self._server.hold_clients(False)

    def _keep_date(self, ahead_ms: int) -> None:
        """A broker that is started again must not go back in time."""
        cluster = self._server.cluster
        if cluster.store is not None:
            cluster.store.keep_virtual_date(cluster.wall_ms() + ahead_ms)

    def _is_settled(self) -> bool:
        if self._server.is_stopping:
            raise Stopping
        if perf_counter() > self._give_up_at:
            raise _TookTooLong
        return self._server.services.is_settled

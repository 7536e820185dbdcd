"""The broker of the `async_kafka` fixture, which a test with an event loop of its own awaits.

async def test_orders_are_counted(async_kafka):
    async with Service(async_kafka.bootstrap_servers):
        await async_kafka.group("orders").wait_for_assignment()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from ottla.testing.aio import AsyncLooking
from ottla.testing.faulting import Faulting

if TYPE_CHECKING:
    from ottla.broker.server import Server
    from ottla.testing.broker import Broker
    from ottla.testing.faults import Faults

T = TypeVar("T")


class AsyncKafka(AsyncLooking, Faulting):
    """The broker of the `async_kafka` fixture."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        #: The same with what does not wait, such as `connections`, and with what would hold up the test's loop.
        self.broker = broker

    def look(self, at: Callable[[Server], T]) -> T:
        """Call this function in the broker's event loop and return its result."""
        return self.broker.look(at)

    @cached_property
    def faults(self) -> Faults:
        """Those of the broker."""
        return self.broker.faults

    @property
    def bootstrap_servers(self) -> str:
        """The `bootstrap.servers` for clients."""
        return self.broker.bootstrap_servers

    async def advance(self, ms: int) -> None:
        """As `Broker.advance`."""
        await asyncio.to_thread(self.broker.advance, ms)

    async def advance_until(self, condition: Callable[[], bool], *, limit_ms: int) -> int:
        """As `Broker.advance_until`; the condition is called in another thread."""
        return await asyncio.to_thread(self.broker.advance_until, condition, limit_ms=limit_ms)

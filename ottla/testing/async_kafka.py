"""The broker of the `async_kafka` fixture, which a test with an event loop of its own awaits.

async def test_orders_are_counted(async_kafka):
    async with Service(async_kafka.bootstrap_servers):
        await async_kafka.group("orders").wait_for_assignment()
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ottla.testing.aio import AsyncLooking

if TYPE_CHECKING:
    from ottla.testing.broker import Broker


class AsyncKafka(AsyncLooking):
    """The broker of the `async_kafka` fixture."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        #: The same with what does not wait, such as `connections`, and with what would hold up the test's loop.
        self.broker = broker

    @property
    def bootstrap_servers(self) -> str:
        """What to give to clients."""
        return self.broker.bootstrap_servers

    async def advance(self, ms: int) -> None:
        """As `Broker.advance`."""
        await asyncio.to_thread(self.broker.advance, ms)

"""The broker of the `async_kafka` fixture, which a test with an event loop of its own awaits.

async def test_orders_are_counted(async_kafka):
    async with Service(async_kafka.bootstrap_servers):
        await async_kafka.group("orders").wait_for_assignment()

It has all that the fixture `kafka` has. What takes a while is awaited.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ottla.testing.async_broker import AsyncBroker
from ottla.testing.faulting import Faulting

if TYPE_CHECKING:
    from ottla.testing.broker import Broker
    from ottla.testing.faults import Faults


class AsyncKafka(AsyncBroker, Faulting):
    """The broker of the `async_kafka` fixture."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        #: The broker itself, for what makes another one or a file, such as `fork` and `write_trace`.
        self.broker = broker

    @cached_property
    def faults(self) -> Faults:
        """Those of the broker."""
        return self.broker.faults

    @property
    def bootstrap_servers(self) -> str:
        """The `bootstrap.servers` for clients."""
        return self.broker.bootstrap_servers

    def bootstrap_servers_on(self, listener: str) -> str:
        """As `Broker.bootstrap_servers_on`."""
        return self.broker.bootstrap_servers_on(listener)

    @property
    def control_url(self) -> str | None:
        """Where scripts are answered over HTTP; None: nowhere."""
        return self.broker.control_url

"""What of a whole broker takes a while, and is awaited in a test with an event loop of its own: time, and nodes.

await kafka.aio.advance(45_000)          await kafka.aio.node(2).stop()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

from ottla.testing.aio import AsyncLooking
from ottla.testing.inside import Inside


class Node(Protocol):
    """What a broker's node does."""

    node_id: int

    @property
    def bootstrap_server(self) -> str:
        """Its address."""

    @property
    def state(self) -> Literal["up", "silent", "down"]:
        """Whether it answers."""

    def stop(self, *, hard: bool = False) -> None:
        """Stop it."""

    def start(self) -> None:
        """Start it."""


class Kafka(Inside, Protocol):
    """A broker whose calls wait."""

    def advance(self, ms: int, /) -> None:
        """Move its time."""

    def advance_until(self, condition: Callable[[], bool], /, *, limit_ms: int) -> int:
        """Move it until something is so."""

    def node(self, node_id: int, /) -> Node:
        """One of its nodes."""


class AsyncBrokerNode:
    """One node of a running broker. Stopped nodes can be started again, and the others serve meanwhile."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.node_id = node.node_id

    @property
    def bootstrap_server(self) -> str:
        """Its address as host:port, which it keeps when it is stopped."""
        return self._node.bootstrap_server

    @property
    def state(self) -> Literal["up", "silent", "down"]:
        """As `BrokerNode.state`."""
        return self._node.state

    async def stop(self, *, hard: bool = False) -> None:
        """As `BrokerNode.stop`."""
        await asyncio.to_thread(self._node.stop, hard=hard)

    async def start(self) -> None:
        """As `BrokerNode.start`."""
        await asyncio.to_thread(self._node.start)


class AsyncBroker(AsyncLooking):
    """A running broker, of which what takes a while is awaited."""

    def __init__(self, kafka: Kafka) -> None:
        super().__init__(kafka)
        self._kafka = kafka

    async def advance(self, ms: int) -> None:
        """As `Broker.advance`."""
        await asyncio.to_thread(self._kafka.advance, ms)

    async def advance_until(self, condition: Callable[[], bool], *, limit_ms: int) -> int:
        """As `Broker.advance_until`; the condition is called in another thread."""
        return await asyncio.to_thread(self._kafka.advance_until, condition, limit_ms=limit_ms)

    def node(self, node_id: int) -> AsyncBrokerNode:
        """As `Broker.node`."""
        return AsyncBrokerNode(self._kafka.node(node_id))

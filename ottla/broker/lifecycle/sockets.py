"""Every server socket of a broker: one for each listener of each node, and those of attachments.

They are bound before any of them accepts, so no client sees half a cluster. When the broker or a node stops, its
clients have a while to take their last answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ottla.broker.network.listener import Listener, Shared
from ottla.cluster.address import Address

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.endpoints import Endpoint
    from ottla.broker.node.broker_node import BrokerNode

#: How long clients have to take their last answers when the broker, or their node, stops.
FLUSH_SECONDS_MAX: Final = 5.0


class ServerSocket(Protocol):
    """A bound socket and the connections that it has accepted."""

    async def accept(self) -> None:
        """Let clients in. Raises OSError."""

    def stop_accepting(self) -> None:
        """Let no more clients in, and give the address back."""

    def close(self) -> None:
        """Close the socket, and every connection when its last answers have left."""

    async def closed(self) -> None:
        """Return when the last connection is gone."""

    def abort(self) -> None:
        """Drop the connections that are left."""


class _Added(NamedTuple):
    """A server socket of an attachment."""

    socket: ServerSocket
    option: str
    address: Address


class Sockets:
    """The server sockets of one broker."""

    def __init__(self, endpoints: Sequence[Endpoint], shared: Shared) -> None:
        """`endpoints`: the listeners of the first node. `shared`: what all connections share."""
        self._endpoints = endpoints
        self._shared = shared
        #: Those for clients of Kafka.
        self.listeners: list[Listener] = []
        self._added: list[_Added] = []

    @property
    def connections(self) -> list[Connection]:
        """Those of all nodes."""
        return [connection for listener in self.listeners for connection in listener.connections]

    def of(self, node: BrokerNode) -> list[Listener]:
        """Those of one node."""
        return [listener for listener in self.listeners if listener.node is node]

    def add(self, socket: ServerSocket, option: str, address: Address) -> None:
        """Accept and close this bound socket with all others. `option` and `address` name it in refusals."""
        self._added.append(_Added(socket, option, address))

    async def bind(self, nodes: Iterable[BrokerNode]) -> None:
        """Bind a socket for each listener of each node. Raises `MachineRefused`."""
        for index, node in enumerate(nodes):
            for endpoint in self._endpoints:
                await self._bind(Listener(node, self._shared, endpoint.name), endpoint, index)

    async def _bind(self, listener: Listener, endpoint: Endpoint, index: int) -> None:
        """Bind a listener of the node with this index, and tell the node its address."""
        self.listeners.append(listener)
        node, address = listener.node.node, endpoint.listen.plus(index)
        try:
            port = await listener.open(address.host, address.port)
        except OSError as error:
            raise address.refused(endpoint.option, error) from None
        node.listens[endpoint.name] = Address(address.host, port)
        if endpoint.advertise is not None:
            advertised = endpoint.advertise.plus(index)
            node.addresses[endpoint.name] = Address(advertised.host, advertised.port or port)

    async def accept(self) -> None:
        """Let clients in. Raises `MachineRefused` if another process listens on an address since it was bound."""
        options = {endpoint.name: endpoint.option for endpoint in self._endpoints}
        wanted: list[tuple[ServerSocket, str, Address]] = [
            (listener, options[listener.name], listener.node.node.listens[listener.name]) for listener in self.listeners
        ]
        for opened, option, address in [*wanted, *self._added]:
            try:
                await opened.accept()
            except OSError as error:
                raise address.refused(option, error) from None

    async def reopen(self, node: BrokerNode, check: Callable[[], None]) -> None:
        """Have all listeners of a node let clients in again, or none. Raises `MachineRefused`, and what `check` does.

        `check`: called when an address was looked up, which takes a while. What was opened then is closed by `close`.
        """
        listeners = self.of(node)
        for listener in listeners:
            try:
                await listener.reopen()
                check()
                await listener.accept()
            except OSError as error:
                for opened in listeners:
                    await opened.refuse_all()
                raise listener.node.node.listens[listener.name].refused("node", error) from None

    def stop_accepting(self) -> None:
        """Let no more clients in."""
        for opened in self._all:
            opened.stop_accepting()

    def close(self) -> None:
        """Close every connection when its last answers have left."""
        for opened in self._all:
            opened.close()

    async def until_closed(self, sockets: Sequence[ServerSocket] | None = None) -> None:
        """Let the last answers leave, for clients that take them; those of all sockets, or of these."""
        waited_for = self._all if sockets is None else sockets
        try:
            async with asyncio.timeout(FLUSH_SECONDS_MAX):
                for opened in waited_for:
                    await opened.closed()
        except TimeoutError:
            for opened in waited_for:
                opened.abort()

    @property
    def _all(self) -> list[ServerSocket]:
        return [*self.listeners, *(added.socket for added in self._added)]

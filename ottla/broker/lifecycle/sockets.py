"""Every socket that a broker listens on: those of its nodes, one for each of the listeners, and the control API's.

They are bound before any of them accepts, so that no client sees half a cluster. At the end, and when a node is
stopped, whoever is connected has a while to take its last answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.broker.network.listener import Listener, Shared
from ottla.cluster.address import Address

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.endpoints import Endpoint
    from ottla.broker.node.broker_node import BrokerNode
    from ottla.control.api.http import ControlListener

    Door: TypeAlias = Listener | ControlListener

#: How long clients have to take their last answers when the broker, or their node, stops.
FLUSH_SECONDS_MAX: Final = 5.0


class Doors:
    """The sockets of one broker."""

    def __init__(self, endpoints: Sequence[Endpoint], shared: Shared) -> None:
        """`endpoints`: the listeners of the first node. `shared`: what all connections have in common."""
        self._endpoints = endpoints
        self._shared = shared
        #: Those for clients of Kafka.
        self.listeners: list[Listener] = []
        self._control: tuple[ControlListener, Address] | None = None

    @property
    def connections(self) -> list[Connection]:
        """Those of all nodes."""
        return [connection for listener in self.listeners for connection in listener.connections]

    def of(self, node: BrokerNode) -> list[Listener]:
        """Those of one node."""
        return [listener for listener in self.listeners if listener.node is node]

    def add_control(self, listener: ControlListener, address: Address) -> None:
        """The control API's, which is bound already."""
        self._control = listener, address

    async def bind(self, nodes: Iterable[BrokerNode]) -> None:
        """Bind a socket for each listener of each node. Raises `MachineRefused`."""
        for index, node in enumerate(nodes):
            for endpoint in self._endpoints:
                await self._bind(Listener(node, self._shared, endpoint.name), endpoint, index)

    async def _bind(self, listener: Listener, endpoint: Endpoint, index: int) -> None:
        """Bind a listener of the node with this index, and let the node know where that is."""
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
        """Let clients in. Somebody else may have begun to listen since the address was bound: then it can't be had.

        Raises `MachineRefused`.
        """
        options = {endpoint.name: endpoint.option for endpoint in self._endpoints}
        wanted: list[tuple[Door, str, Address]] = [
            (listener, options[listener.name], listener.node.node.listens[listener.name]) for listener in self.listeners
        ]
        if self._control is not None:
            listener, address = self._control
            wanted.append((listener, "--control", address))
        for door, option, address in wanted:
            try:
                await door.accept()
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
        """Let nobody else in."""
        for door in self._all:
            door.stop_accepting()

    def close(self) -> None:
        """Close every connection when its last answers have left."""
        for door in self._all:
            door.close()

    async def until_closed(self, doors: Sequence[Door] | None = None) -> None:
        """Let the last answers leave, for clients that take them; of all, or of these."""
        waited_for = self._all if doors is None else doors
        try:
            async with asyncio.timeout(FLUSH_SECONDS_MAX):
                for door in waited_for:
                    await door.closed()
        except TimeoutError:
            for door in waited_for:
                door.abort()

    @property
    def _all(self) -> list[Door]:
        return [*self.listeners, *([] if self._control is None else [self._control[0]])]

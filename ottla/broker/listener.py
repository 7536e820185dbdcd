"""A listener: one node's server socket, and what its connections share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ottla.broker.call import Call
from ottla.broker.connection import Connection
from ottla.broker.limits import RECEIVE_BUFFER_BYTES
from ottla.broker.log import LEVELS
from ottla.broker.node import Node
from ottla.broker.routes import Routes

#: The backlog of connections the kernel accepts for us. Kafka: socket.listen.backlog.size = 50; test suites start
#: hundreds of clients in one breath.
BACKLOG = 1024


class Shared:
    """What every connection of the process uses: the receive buffer and the routes made so far."""

    def __init__(self) -> None:
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.routes = Routes()


async def bind(create_server: Callable[[int], Awaitable[asyncio.Server]], port: int) -> tuple[asyncio.Server, int]:
    """A server socket on this port, and its port, which the machine chooses when `port` is 0. Raises OSError.

    A name may stand for several addresses, as localhost does for 127.0.0.1 and ::1. They get the same port.
    """
    server = await create_server(port)
    ports: list[int] = [opened.getsockname()[1] for opened in server.sockets]
    if ports.count(ports[0]) != len(ports):
        server.close()
        return await bind(create_server, ports[0])
    return server, ports[0]


class Listener:
    """Accepts connections for one node."""

    def __init__(self, node: Node, shared: Shared, log: Any) -> None:
        self.node = node
        self.routes = shared.routes
        self.receive_buffer = shared.receive_buffer
        self.request_bytes_max: int = node.cluster.settings["socket.request.max.bytes"]
        self.connections: set[Connection] = set()
        self.log = log.bind(node_id=node.node_id)
        self.new_call = _call_class(self.log)
        self.loop = asyncio.get_running_loop()
        self._server: asyncio.Server | None = None
        self._all_gone = asyncio.Event()

    async def open(self, host: str, port: int) -> int:
        """Bind; returns the port, which the machine chooses when `port` is 0. Raises OSError."""
        self._server, port = await bind(
            lambda port: self.loop.create_server(
                lambda: Connection(self), host, port, backlog=BACKLOG, start_serving=False
            ),
            port,
        )
        return port

    async def accept(self) -> None:
        """Let clients in."""
        if self._server is not None:
            await self._server.start_serving()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def close_idle(self) -> None:
        """Close what nothing came from and nothing left to since the last call. Kafka: connections.max.idle.ms."""
        for connection in list(self.connections):
            if connection.is_idle():
                self.log.info("connection.idle.closed", client_host=connection.client_host)
                connection.abort()

    def remember(self, connection: Connection) -> None:
        """A client has connected; if that was too late, it is turned away."""
        self.connections.add(connection)
        if self._server is None:
            connection.close()

    def forget(self, connection: Connection) -> None:
        """The connection is gone."""
        self.connections.discard(connection)
        if not self.connections:
            self._all_gone.set()

    def close(self) -> None:
        """Close the socket and every connection, after what is written has left."""
        self.stop_accepting()
        for connection in list(self.connections):
            connection.close()

    async def closed(self) -> None:
        """Return when the last connection is gone."""
        while self.connections:
            self._all_gone.clear()
            await self._all_gone.wait()

    def abort(self) -> None:
        """Drop the connections that are left, and what was written for them."""
        for connection in list(self.connections):
            connection.abort()


def _call_class(log: Any) -> type[Call]:
    """What a request becomes: with the level debug, one that tells the log when it is answered."""
    if not log.is_enabled_for(LEVELS["debug"]):
        return Call
    from ottla.broker.logged_call import LoggedCall

    return LoggedCall

"""A listener: one of a node's server sockets, and what its connections share.

A node that is stopped for a while keeps its port. The address stays bound, so no other program gets it and clients are
refused; the node listens on it again when it is back.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ottla.broker.network.call import Call, LongCall
from ottla.broker.network.connection import Connection
from ottla.broker.network.endpoints import DEFAULT_NAME
from ottla.broker.network.holdings import Holdings
from ottla.broker.network.limits import (
    RECEIVE_BUFFER_BYTES,
    RECEIVING_BYTES_MAX,
    REUSED_BLOCK_BYTES_MAX,
    UNREAD_BYTES_MAX,
)
from ottla.broker.network.outbox import Outbox
from ottla.broker.network.routes import Routes
from ottla.broker.node.broker_node import BrokerNode
from ottla.events.kind import Kind
from ottla.events.kinds.event_kind import EventKind
from ottla.security.authorizer import AllowAll, Authorizer

if TYPE_CHECKING:
    from ottla.broker.network.call import CallRecorder

#: The backlog of connections the kernel accepts for us. Kafka: socket.listen.backlog.size = 50; test suites start
#: hundreds of clients at once.
BACKLOG = 1024
#: Turns of asyncio's own loop from when it has accepted a connection until `remember` hears of it, and one more.
_TURNS_TO_CONNECT = 4
#: How long the loop may take to close a server socket.
_TURNS_TO_CLOSE_MAX = 100


class HeldAddress(Protocol):
    """An address that no other program can have."""

    def close(self) -> None:
        """Give it back."""


#: Holds an address: (family, address).
HoldAddress: TypeAlias = Callable[[int, Any], Awaitable[HeldAddress]]


class Shared:
    """What all connections share: the receive buffer, the routes so far, what is held for clients, the authorizer."""

    def __init__(self, request_bytes_max: int = 0, authorizer: Authorizer | None = None) -> None:
        """`authorizer`: None allows every client everything."""
        _keep_large_blocks()
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.authorizer: Authorizer = authorizer or AllowAll()
        self.routes = Routes(has_short_ways=isinstance(self.authorizer, AllowAll))
        #: Called with each connection that was just made, and may end it; None: all connections stay.
        self.on_connected: Callable[[Connection], object] | None = None
        #: Keeps all requests and their answers; None: nothing does.
        self.recorder: CallRecorder | None = None
        #: Whether nothing is taken up from clients for a while, also from clients that connect just then.
        self.are_clients_held = False
        self.outbox = Outbox()
        self.unread = Holdings("answers it does not read", UNREAD_BYTES_MAX)
        self.receiving = Holdings("a request it has not sent whole", max(RECEIVING_BYTES_MAX, 2 * request_bytes_max))


def _keep_large_blocks() -> None:
    """Have malloc keep large blocks that are given back, instead of returning them to the system at once.

    glibc learns that from the first one it sees given back; elsewhere this does nothing. Blocks fresh from the system
    are zeroed page by page as they are written: most of the cost of a produce request of a megabyte.
    """
    bytearray(REUSED_BLOCK_BYTES_MAX)


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


async def listen(server: asyncio.Server) -> None:
    """Have the kernel accept connections. Raises OSError.

    That fails if another program has bound the same address and was quicker to listen. uvloop says so only to the
    loop's exception handler: it closes the socket, and goes on.
    """
    await server.start_serving()
    if any(opened.fileno() < 0 for opened in server.sockets):
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


class Listener:
    """Accepts connections for one node, under a name that all nodes know."""

    def __init__(self, node: BrokerNode, shared: Shared, name: str = DEFAULT_NAME) -> None:
        self.node = node
        self.name = name
        self._shared = shared
        self.routes = shared.routes
        self.authorizer = shared.authorizer
        self.receive_buffer = shared.receive_buffer
        self.unread = shared.unread
        self.receiving = shared.receiving
        self.outbox = shared.outbox
        self.pace = node.pace
        self.request_bytes_max: int = node.cluster.settings["socket.request.max.bytes"]
        self.connections: set[Connection] = set()
        #: What a request becomes, and a long one.
        self.new_call: type[Call] = Call
        self.new_long_call: type[Call] = LongCall
        self._is_told = False
        node.events.when_read(Kind.REQUEST_HANDLED, self._choose_told)
        self.loop = asyncio.get_running_loop()
        self._server: asyncio.Server | None = None
        #: A loop whose sockets are not the machine's has its own way to hold an address.
        self._hold: HoldAddress = getattr(self.loop, "hold_address", _hold)
        self._host = ""
        self._port = 0
        #: What holds the addresses while the node is stopped.
        self._held: list[HeldAddress] = []
        self._all_gone = asyncio.Event()
        #: Whether the node has died: a client that has just connected is reset as all others were.
        self._is_dead = False

    async def open(self, host: str, port: int) -> int:
        """Bind; returns the port, which the machine chooses when `port` is 0. Raises OSError."""
        self._server, port = await bind(
            lambda port: self.loop.create_server(
                lambda: Connection(self), host, port, backlog=BACKLOG, start_serving=False
            ),
            port,
        )
        self._host, self._port = host, port
        self._is_dead = False
        return port

    async def reopen(self) -> None:
        """Bind again where it was before `refuse_all`. Raises OSError."""
        self._let_go()
        await self.open(self._host, self._port)

    async def refuse_all(self) -> None:
        """Accept no connection any more, and keep the address."""
        server, self._server = self._server, None
        if server is None:
            return
        addresses = [(opened.family, opened.getsockname()) for opened in server.sockets]
        self._close_server(server)
        for family, address in addresses:
            self._held.append(await self._hold(family, address))

    def _let_go(self) -> None:
        while self._held:
            self._held.pop().close()

    async def accept(self) -> None:
        """Let clients in. Raises OSError, and has given the address back then."""
        if self._server is not None:
            try:
                await listen(self._server)
            except OSError:
                self.stop_accepting()
                raise

    def stop_accepting(self) -> None:
        """Accept no connection any more, and give the address back."""
        self._let_go()
        if self._server is not None:
            self._close_server(self._server)
            self._server = None

    def _close_server(self, server: asyncio.Server) -> None:
        """Accept no more. asyncio's own loop loses connections, and leaves their clients hanging, that it has
        accepted in the turn in which the server is closed: so it accepts no more, and the server is closed in the next.
        """
        if isinstance(self.loop, asyncio.SelectorEventLoop):
            for opened in server.sockets:
                self.loop.remove_reader(opened)
            self.loop.call_soon(server.close)
        else:
            server.close()

    def close_idle(self) -> None:
        """Close what nothing came from and nothing left to since the last call. Kafka: connections.max.idle.ms."""
        for connection in list(self.connections):
            if connection.is_idle():
                self.node.events.tell(
                    Kind.CONNECTION_IDLE_CLOSED, node_id=self.node.node_id, client_host=connection.client_host
                )
                connection.abort()

    def remember(self, connection: Connection) -> None:
        """A client has connected; if that was too late, the connection is closed."""
        self.connections.add(connection)
        connection.add_closed_callback(self._forget)
        self._tell(Kind.CONNECTION_OPENED, connection)
        if self._shared.are_clients_held:
            connection.hold()
        if self._is_dead:
            connection.reset()
        elif self._server is None:
            connection.close()
        elif self._shared.on_connected is not None:
            self._shared.on_connected(connection)

    def _forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self._tell(Kind.CONNECTION_CLOSED, connection)
        if not self.connections:
            self._all_gone.set()

    def _tell(self, kind: EventKind, connection: Connection) -> None:
        self.node.events.tell(
            kind,
            node_id=self.node.node_id,
            listener=self.name,
            client_host=connection.client_host,
            client_port=connection.client_port,
        )

    @property
    def recorder(self) -> CallRecorder | None:
        """What keeps all requests and their answers; None: nothing does."""
        return self._shared.recorder

    def choose_call(self) -> None:
        """Choose what requests become: what costs least and does what is wanted."""
        if self._shared.recorder is not None:
            from ottla.broker.network.recorded_call import RecordedCall, RecordedLongCall

            self.new_call, self.new_long_call = RecordedCall, RecordedLongCall
        elif self._is_told:
            from ottla.broker.network.timed_call import TimedCall, TimedLongCall

            self.new_call, self.new_long_call = TimedCall, TimedLongCall
        else:
            self.new_call, self.new_long_call = Call, LongCall
        for connection in self.connections:
            connection.new_call, connection.new_long_call = self.new_call, self.new_long_call

    def _choose_told(self, is_told: bool) -> None:
        """While there is a reader of each request, requests become calls that tell when they are answered."""
        self._is_told = is_told
        self.choose_call()

    def finish(self) -> None:
        """Close every connection when what came there is answered."""
        for connection in list(self.connections):
            connection.finish()

    def reset(self) -> None:
        """Break every connection off, and those that are just being made."""
        self._is_dead = True
        for connection in list(self.connections):
            connection.reset()

    def close(self) -> None:
        """Close the socket and every connection, after what is written has left."""
        self.stop_accepting()
        for connection in list(self.connections):
            connection.close()

    async def closed(self) -> None:
        """Return when the last connection is gone, be it one that had been accepted and was not in use yet."""
        for _ in range(_TURNS_TO_CONNECT):
            await asyncio.sleep(0)
        while self.connections:
            self._all_gone.clear()
            await self._all_gone.wait()

    def abort(self) -> None:
        """Drop the connections that are left, and what was written for them."""
        for connection in list(self.connections):
            connection.abort()


async def _hold(family: int, address: Any) -> socket.socket:
    """A socket that is bound there and does not listen. The one before may need a turn of the loop to go."""
    for _ in range(_TURNS_TO_CLOSE_MAX):
        held = socket.socket(family)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(address)
        except OSError:
            held.close()
            await asyncio.sleep(0)
        else:
            break
    return held  # unbound at worst: then the port may be taken meanwhile, which `reopen` says

"""The network of a simulation: addresses, listening sockets, and how long each message takes, by seed.

Every address is on it: 127.0.0.1, localhost and whatever name a server was given. Nothing of it is on the machine's
network, so ports are free and no other program connects.
"""

from __future__ import annotations

import asyncio
import errno
import os
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Final

from ottla.testing.simulation.host import Host, here, host_of
from ottla.testing.simulation.transport import End

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_FIRST_FREE_PORT: Final = 20_000
_FIRST_CLIENT_PORT: Final = 49_152
#: What is due at the same instant comes in no order.
_APART_S: Final = 1e-7
_LOOPBACK: Final = "127.0.0.1"
#: Names of a host's own address.
_OWN: Final = frozenset({"localhost", "::1", "0.0.0.0", "::", ""})


class Network:
    """The listening servers, and what is on its way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, random_source: Random, latency_ms: tuple[float, float]) -> None:
        """`latency_ms`: how long a message takes at least and at most."""
        self.loop = loop
        self._random_source = random_source
        self._latency_s = latency_ms[0] / 1000, latency_ms[1] / 1000
        self._servers: dict[tuple[str, int], SimulatedServer] = {}
        self._next_port = _FIRST_FREE_PORT
        self._next_client_port = _FIRST_CLIENT_PORT
        self._hosts: dict[str, Host] = {}
        #: Every end of a connection that is open.
        self.ends: dict[End, None] = {}

    def host(self, name: str) -> Host:
        """The host of this name; one that is not there yet is set up."""
        if name not in self._hosts:
            self._hosts[name] = Host(name, f"10.0.0.{len(self._hosts) + 1}", self)
        return self._hosts[name]

    @property
    def hosts(self) -> list[Host]:
        """All that were set up."""
        return list(self._hosts.values())

    def close(self, host: Host | None = None) -> None:
        """End the connections of this host, or all, as a system does whose programs have ended."""
        for end in list(self.ends):
            if host is None or end.host is host:
                end.close()

    def send(self, end: End, arrive: Callable[[], None], context: Context) -> None:
        """Have something arrive from this end at the other, in that one's context."""
        for host in end.hosts:
            if host is not None and host.is_cut:
                host.held.append(lambda: self.send(end, arrive, context))
                return
        end.arrives_s = max(end.arrives_s + _APART_S, self.loop.time() + self._latency())
        self.loop.call_at(end.arrives_s, arrive, context=context)

    async def connect(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], host: str | None, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """As `loop.create_connection`. Raises `ConnectionRefusedError`."""
        await self._reach()
        server = self._servers.get((_resolve(host), port))
        if server is None or not server.is_serving():
            await asyncio.sleep(self._latency())
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed ('{host}', {port})")
        client = here()
        own = (_LOOPBACK if client is None else client.address, self._next_client_port)
        self._next_client_port += 1
        ours = End(self, client, own, server.address)
        theirs = server.context.run(End, self, host_of(server.context), server.address, own)
        ours.peer, theirs.peer = theirs, ours
        theirs.open_soon(server.make_protocol)
        try:
            await asyncio.sleep(self._latency())
        except BaseException:
            ours.close()
            raise
        protocol = make_protocol()
        ours.open(protocol)
        return ours, protocol

    def listen(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], host: str | None, port: int | None
    ) -> SimulatedServer:
        """As `loop.create_server`. Raises OSError."""
        if not port:
            port, self._next_port = self._next_port, self._next_port + 1
        address = _resolve(host), port
        if address in self._servers:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        server = self._servers[address] = SimulatedServer(self, make_protocol, address)
        return server

    def forget(self, server: SimulatedServer) -> None:
        """No server listens there any more."""
        if self._servers.get(server.address) is server:
            del self._servers[server.address]

    async def _reach(self) -> None:
        """Return when a message has got through to the network: later, if the host that is here is cut off."""
        client = here()
        if client is not None and client.is_cut:
            healed = self.loop.create_future()
            client.held.append(lambda: _release(healed))
            await healed
        await asyncio.sleep(self._latency())

    def _latency(self) -> float:
        return self._random_source.uniform(*self._latency_s)


class SimulatedServer(asyncio.AbstractServer):
    """A listening socket."""

    def __init__(
        self, network: Network, make_protocol: Callable[[], asyncio.BaseProtocol], address: tuple[str, int]
    ) -> None:
        self._network = network
        self.make_protocol = make_protocol
        self.address = address
        #: What its connections' callbacks run in.
        self.context: Context = copy_context()
        self._is_serving = self._is_closed = False
        self.sockets: tuple[SocketOfServer, ...] = (SocketOfServer(address),)

    def get_loop(self) -> Any:
        return self._network.loop

    def is_serving(self) -> bool:
        return self._is_serving

    async def start_serving(self) -> None:
        self._is_serving = not self._is_closed

    async def serve_forever(self) -> None:
        await self.start_serving()
        await self._network.loop.create_future()

    def close(self) -> None:
        self._is_serving = False
        self._is_closed = True
        self.sockets = ()
        self._network.forget(self)

    async def wait_closed(self) -> None:
        """It is closed at once."""


class SocketOfServer:
    """What is asked of a listening socket. There is none."""

    def __init__(self, address: tuple[str, int]) -> None:
        import socket

        self.family = socket.AF_INET
        self._address = address

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def fileno(self) -> int:
        return 0


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _resolve(host: str | None) -> str:
    return _LOOPBACK if host is None or host in _OWN else host

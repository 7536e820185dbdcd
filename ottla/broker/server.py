"""A whole broker: listeners for its nodes, the cluster behind them, and an orderly end.

`run` serves until `stop` is called. Everything that runs meanwhile belongs to its task group, so that nothing outlives
it and no failure goes unseen.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ottla.broker.cluster import Cluster
from ottla.broker.config import ConfigError, Settings
from ottla.broker.listener import Listener, Shared
from ottla.broker.node import Node
from ottla.purgatory import Alarm, Clock, SystemClock, Timer

PORT_MAX = 65535


class MachineRefused(Exception):
    """The machine would not do what was asked, such as a port that is taken; the text says what to do about it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port as a user writes them. Port 0 lets the machine choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, option: str) -> Address:
        """Read HOST:PORT, an IPv6 host in brackets. Raises `ConfigError` naming the option."""
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > PORT_MAX:
            raise ConfigError(f"{option} {text} is not HOST:PORT; write for example {option} 127.0.0.1:9092")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_wildcard(self) -> bool:
        """An address to listen on but not to be reached at, such as 0.0.0.0."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False


class Server:
    """The broker as one object. Made, then run once."""

    def __init__(
        self,
        settings: Settings,
        *,
        listen: Address,
        log: Any,
        advertise: Address | None = None,
        node_count: int = 1,
        clock: Clock | None = None,
    ) -> None:
        """`advertise`: what clients are told instead of `listen`; node i has its port + i. Raises `ConfigError`."""
        if advertise is None and listen.is_wildcard:
            raise ConfigError(
                f"--listen {listen} accepts on every interface, but clients need one name to come back to; "
                f"add for example --advertise localhost:{listen.port or 9092}"
            )
        self.settings = settings
        self.log = log
        self.clock = clock or SystemClock()
        self.cluster = Cluster(settings, self.clock, log)
        self._listen = listen
        self._advertise = advertise
        first = settings.first_node_id
        self._nodes = [Node(node_id, self.cluster) for node_id in range(first, first + node_count)]
        self._listeners: list[Listener] = []
        self._stopping = asyncio.Event()

    @property
    def bootstrap(self) -> str:
        """What to give to a client as bootstrap servers."""
        return ",".join(str(Address(node.host, node.port)) for node in self._nodes)

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Open the listeners, call `on_ready`, serve until `stop`. Raises `MachineRefused` if a socket can't be had."""
        timer = self.cluster.timer = Timer(self.clock, loop=asyncio.get_running_loop())
        try:
            async with asyncio.TaskGroup() as self.cluster.tasks:
                try:
                    await self._open()
                    self._watch_idle_connections(timer)
                    on_ready()
                    await self._stopping.wait()
                finally:
                    self._close()
        finally:
            timer.close()

    def stop(self) -> None:
        """Begin the orderly end: no new work, parked answers released, everything flushed and closed."""
        self._stopping.set()

    async def advance(self, ms: int) -> None:
        """Move the virtual clock on; returns when all that was due has happened, each thing at its own time."""
        await self.cluster.timer.advance(ms, settled=lambda: self.cluster.is_settled)

    async def _open(self) -> None:
        """Bind every node's socket before any of them accepts, so that no client sees half a cluster."""
        shared = Shared()
        for index, node in enumerate(self._nodes):
            listener = Listener(node, shared, self.log)
            port = self._listen.port + index if self._listen.port else 0
            try:
                node.port = await listener.open(self._listen.host, port)
            except OSError as error:
                where = Address(self._listen.host, port)
                raise MachineRefused(
                    f"cannot listen on {where}: {error.strerror or error}; "
                    "stop what uses it or choose another with --listen HOST:PORT (port 0: any free one)"
                ) from None
            node.host = self._listen.host
            if self._advertise is not None:
                node.host = self._advertise.host
                node.port = self._advertise.port + index if self._advertise.port else node.port
            self._listeners.append(listener)
            self.cluster.nodes[node.node_id] = node
        for listener in self._listeners:
            await listener.accept()

    def _watch_idle_connections(self, timer: Timer) -> None:
        """Close connections that have been silent for connections.max.idle.ms, or a little longer.

        A virtual clock jumps over hours in which real clients could not have sent anything, so it closes nobody.
        """
        idle_ms: int = self.settings["connections.max.idle.ms"]
        if idle_ms < 0 or self.clock.stands_still:
            return

        def look() -> None:
            for listener in self._listeners:
                listener.close_idle()
            timer.add(alarm, timer.now_ms() + idle_ms)

        alarm = Alarm(look)
        timer.add(alarm, timer.now_ms() + idle_ms)

    def _close(self) -> None:
        for listener in self._listeners:
            listener.stop_accepting()
        self.cluster.release_parked()
        for listener in self._listeners:
            listener.close()

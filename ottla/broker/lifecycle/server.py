"""A whole broker: the sockets of its nodes, what `assembly` builds behind them, and an orderly end.

`run` serves until `stop` is called. Everything that runs meanwhile belongs to its task group, so nothing outlives it.
A failure there is told in the log and ends nothing else: see `supervision`.

Nothing here knows of tests or of the control API. What changes a running broker from outside stands above it and is
attached at these seams:

    attach            sockets beside the listeners, work before the first client, work while the broker runs
    record_with       every request and its answer
    hold_clients      requests wait while the clock moves
    shared            an interceptor on its routes, and `turn_away` for new connections
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ottla.broker.lifecycle.assembly import Assembly, assemble
from ottla.broker.lifecycle.platform import Platform
from ottla.broker.lifecycle.sockets import Sockets
from ottla.broker.lifecycle.start import close_idle_connections, open_data_dir, open_journal
from ottla.broker.network.endpoints import Endpoint, check_ports
from ottla.broker.network.listener import Shared
from ottla.broker.reporting.log_lines import LogLines
from ottla.broker.upkeep.housekeeping import Housekeeping
from ottla.cluster.address import Address
from ottla.events.stream import Stream
from ottla.purgatory import Timer
from ottla.settings.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from ottla.broker.lifecycle.attachment import Attachment
    from ottla.broker.network.call import CallRecorder
    from ottla.broker.network.connection import Connection
    from ottla.broker.node.services import Services
    from ottla.broker.reporting.structured_log import Log
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.node import Node
    from ottla.security.authorizer import Authorizer


class Server:
    """The broker as one object. Made, then run once."""

    def __init__(
        self,
        settings: Settings,
        *,
        endpoints: Sequence[Endpoint],
        log: Log,
        node_count: int = 1,
        platform: Platform | None = None,
        journal: Path | None = None,
        data_dir: Path | None = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        """`endpoints`: the listeners of the first node; node i has its ports + i. `platform`: None for the machine.
        `journal`: the file for events of groups; None: no journal. `data_dir`: the directory for all data; None: in
        memory. `authorizer`: decides what clients may do; None: they may do everything. Raises `ConfigError`.
        """
        check_ports(endpoints, node_count)
        self.settings = settings
        self.endpoints = endpoints
        self.node_count = node_count
        self.data_dir = data_dir
        self._journal_path = journal
        self._platform = platform or Platform()
        self.clock = self._platform.clock
        #: What happens in the broker, from before it runs until after it has.
        self.events = Stream(self.clock.now_ms, self.clock.wall_ms)
        self._log_lines = LogLines(self.events, log)
        #: The parts of the broker, once it runs.
        self.parts: Assembly
        #: What all connections share.
        self.shared = Shared(settings["socket.request.max.bytes"], authorizer)
        self.sockets = Sockets(endpoints, self.shared)
        self._attachments: list[Attachment] = []
        self._stopping = asyncio.Event()

    @property
    def cluster(self) -> Cluster:
        """Its nodes and topics, once it runs."""
        return self.parts.cluster

    @property
    def services(self) -> Services:
        """What stands behind the handlers, once it runs."""
        return self.parts.services

    @property
    def timer(self) -> Timer:
        """All its deadlines, once it runs."""
        return self.parts.timer

    @property
    def nodes(self) -> list[Node]:
        """Its nodes, up or not, the first one first."""
        return list(self.cluster.all_nodes.values())

    @property
    def addresses(self) -> list[Address]:
        """Where clients of the first listener reach each node."""
        return [node.address for node in self.nodes]

    @property
    def bootstrap(self) -> str:
        """The value of a client's `bootstrap.servers`."""
        return ",".join(map(str, self.addresses))

    @property
    def connections(self) -> list[Connection]:
        """Those of all nodes."""
        return self.sockets.connections

    @property
    def connection_counts(self) -> dict[int, int]:
        """How many clients are connected, by node id."""
        counts = dict.fromkeys(self.cluster.all_nodes, 0)
        for listener in self.sockets.listeners:
            counts[listener.node.node_id] += len(listener.connections)
        return counts

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    # --- its life ---

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Open the sockets, call `on_ready`, serve until `stop`.

        Raises `MachineRefused` if a socket, the journal or the data directory can't be had, and what attachments raise.
        """
        loop = asyncio.get_running_loop()
        self.parts = assemble(self.settings, self._platform, self.events, loop, node_count=self.node_count)
        with ExitStack() as at_end:
            at_end.callback(self._log_lines.write_at_once)
            self._log_lines.write_soon(loop.call_soon)
            at_end.callback(self.timer.close)
            at_end.callback(self.sockets.stop_accepting)
            if self._journal_path is not None:
                at_end.enter_context(open_journal(self._journal_path, self.events))
            for attachment in self._attachments:  # not within the task group, which would wrap a refusal
                await attachment.bind()
            await self.sockets.bind(self.parts.nodes.values())
            if self.data_dir is not None:
                kept = await open_data_dir(self.parts, self._platform, self.data_dir, self._stopping)
                at_end.callback(kept.close)
            if self.is_stopping:
                return
            async with self.parts.tasks:
                try:
                    await self._let_clients_in()
                    on_ready()
                    await self._stopping.wait()
                finally:
                    self._close()
                await self.sockets.until_closed()

    async def _let_clients_in(self) -> None:
        for attachment in self._attachments:
            await attachment.before_clients()
        await self.sockets.accept()
        close_idle_connections(self.sockets.listeners, self.parts, self.clock)
        for attachment in self._attachments:
            attachment.started()
        Housekeeping(self.cluster, self.timer, self.services.background)
        self.services.begin_coordinating()

    def stop(self) -> None:
        """Begin the orderly end: no new work, parked requests answered, everything flushed and closed."""
        self._stopping.set()

    def _close(self) -> None:
        self.sockets.stop_accepting()
        self.services.close()
        self.sockets.close()

    # --- seams ---

    def attach(self, attachment: Attachment) -> None:
        """Have this run with the broker. To be called before `run`."""
        self._attachments.append(attachment)

    def record_with(self, recorder: CallRecorder) -> None:
        """From now on give every request and its answer to this recorder."""
        self.shared.recorder = recorder
        for listener in self.sockets.listeners:
            listener.choose_call()

    def hold_clients(self, are_held: bool) -> None:
        """Read no request from any client, connected or about to connect, until called with False."""
        self.shared.are_clients_held = are_held
        for connection in self.connections:
            if are_held:
                connection.hold()
            else:
                connection.let_go()

"""A whole broker: the `doors` of its nodes, what `assembly` builds behind them, and an orderly end.

`run` serves until `stop` is called. Everything that runs meanwhile belongs to its task group, so that nothing outlives
it; what fails there is said in the log and ends nothing else, see `supervision`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ottla.broker.lifecycle.assembly import Assembly, assemble
from ottla.broker.lifecycle.opening import (
    begin_to_jump,
    bind_control,
    close_idle_connections,
    open_data_dir,
    open_journal,
    plant_seed,
)
from ottla.broker.lifecycle.sockets import Doors
from ottla.broker.lifecycle.stopping import Stopping
from ottla.broker.network.endpoints import Endpoint, check_ports
from ottla.broker.network.listener import Shared
from ottla.broker.reporting.log_lines import LogLines
from ottla.broker.upkeep.housekeeping import Housekeeping
from ottla.cluster.address import Address
from ottla.cluster.failover import NodeState
from ottla.cluster.node import UnknownNode
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.events.kind import Kind
from ottla.events.stream import Stream
from ottla.purgatory import Clock, SystemClock, Timer
from ottla.settings.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from ottla.broker.groups.coordination import WrapGroupLog
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.interception import Interceptor
    from ottla.broker.node.broker_node import BrokerNode
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.node import Node
    from ottla.control.api.running import ClockKind
    from ottla.control.changes.clock_hand import ClockHand
    from ottla.control.faults.engine import Faults
    from ottla.control.state.requests import RequestRecorder
    from ottla.control.state.waiting import Waiting
    from ottla.log.storage.contract import WrapStorage
    from ottla.log.storage.file_operations import FileOperations
    from ottla.security.authorizer import Authorizer


class Server:
    """The broker as one object. Made, then run once."""

    def __init__(
        self,
        settings: Settings,
        *,
        endpoints: Sequence[Endpoint],
        log: Any,
        node_count: int = 1,
        clock: Clock | None = None,
        control: Address | None = None,
        control_token: str | None = None,
        journal: Path | None = None,
        data_dir: Path | None = None,
        authorizer: Authorizer | None = None,
        wrap_storage: WrapStorage | None = None,
        wrap_group_log: WrapGroupLog | None = None,
        file_operations: FileOperations | None = None,
        seed: Path | None = None,
        random_source: Random | None = None,
        stopwatch: Callable[[], float] = perf_counter,
        autojump_threshold_ms: int | None = None,
    ) -> None:
        """`endpoints`: the listeners of the first node; node i has its ports + i. `control`: where to answer scripts
        over HTTP, if anywhere, and `control_token`: what they have to know, if anything. `journal`: the file that tells
        what happens in groups. `data_dir`: where to keep everything; None: in memory. `authorizer`: who says what
        clients may do; None: they may do all. `wrap_storage`, `wrap_group_log`: put something around the storage of
        each log, or around the group log, such as a fault. `file_operations`: what changes the data directory; None:
        the system. `random_source`: gives ids; None: the system's. `stopwatch`: what slices of long work are
        measured by, in seconds. `seed`: a file with what is to be there from the start. `autojump_threshold_ms`: for
        how long of real time nothing must have come for the virtual clock to jump by itself; None: it doesn't. Raises
        `ConfigError`.
        """
        check_ports(endpoints, node_count, control)
        self.settings = settings
        self.clock = clock or SystemClock()
        #: What happens in it, from before it runs until after it has.
        self.events = Stream(self.clock.now_ms, self.clock.wall_ms)
        self._log_lines = LogLines(self.events, log)
        #: What it is made of, once it runs.
        self.parts: Assembly
        self._assemble = partial(
            assemble,
            settings,
            self.clock,
            self.events,
            node_count=node_count,
            wrap_storage=wrap_storage,
            wrap_group_log=wrap_group_log,
            random_source=random_source,
            stopwatch=stopwatch,
        )
        self._endpoints = endpoints
        self._journal_path = journal
        self.data_dir = data_dir
        self._file_operations = file_operations
        self._seed_path = seed
        self._control_address = control
        self._control_token = control_token
        self._shared = Shared(settings["socket.request.max.bytes"], authorizer)
        self._doors = Doors(endpoints, self._shared)
        #: What clients have asked and were answered, if it is kept.
        self.recorder: RequestRecorder | None = None
        self._stopping = asyncio.Event()
        self._autojump_threshold_ms = autojump_threshold_ms
        self._switching = asyncio.Lock()
        #: Where scripts are answered, once that socket is open.
        self.control_url: str | None = None

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
        """What wakes it, once it runs."""
        return self.parts.timer

    @property
    def clock_kind(self) -> ClockKind:
        """How its time goes."""
        if not self.clock.stands_still:
            return "system"
        return "virtual" if self._autojump_threshold_ms is None else "auto"

    @property
    def nodes(self) -> list[Node]:
        """Its nodes, up or not, the first one first."""
        return list(self.cluster.all_nodes.values())

    @property
    def addresses(self) -> list[Address]:
        """Where clients of the first listener reach each node."""
        return [node.address for node in self.nodes]

    @property
    def connections(self) -> list[Connection]:
        """Those of all nodes."""
        return self._doors.connections

    @cached_property
    def waiting(self) -> Waiting:
        """Who waits until something is true."""
        from ottla.control.state.waiting import Waiting

        return self.services.enter(Waiting(self.parts))

    @property
    def connection_counts(self) -> dict[int, int]:
        """How many clients are connected, by node id."""
        counts = dict.fromkeys(self.cluster.all_nodes, 0)
        for listener in self._doors.listeners:
            counts[listener.node.node_id] += len(listener.connections)
        return counts

    @property
    def bootstrap(self) -> str:
        """What to give to a client as bootstrap servers."""
        return ",".join(map(str, self.addresses))

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Open the sockets, call `on_ready`, serve until `stop`.

        Raises `MachineRefused` if a socket, the journal, the data directory or the seed can't be had, and `ConfigError`
        if the control API would be open to other machines, or the seed makes no sense.
        """
        loop = asyncio.get_running_loop()
        self.parts = self._assemble(loop)
        with ExitStack() as at_end:
            at_end.callback(self._log_lines.write_at_once)
            self._log_lines.write_soon(loop.call_soon)
            at_end.callback(self.timer.close)
            at_end.callback(self._doors.stop_accepting)
            if self._journal_path is not None:
                at_end.enter_context(open_journal(self._journal_path, self.events))
            await self._bind()  # not within the group, which would wrap a refusal
            if self.data_dir is not None:
                kept = await open_data_dir(self.parts, self.clock, self.data_dir, self._file_operations, self._stopping)
                at_end.callback(kept.close)
            if self._stopping.is_set():
                return
            async with self.parts.tasks:
                jumping: asyncio.Task[None] | None = None
                try:
                    if self._seed_path is not None:
                        await plant_seed(self.parts, self._seed_path)
                    await self._doors.accept()
                    close_idle_connections(self._doors.listeners, self.parts, self.clock)
                    if self._autojump_threshold_ms is not None:
                        jumping = begin_to_jump(
                            self.parts, self.clock_hand, lambda: self.connections, self._autojump_threshold_ms
                        )
                    Housekeeping(self.cluster, self.timer, self.services.background)
                    self._read_groups()
                    on_ready()
                    await self._stopping.wait()
                finally:
                    if jumping is not None:
                        jumping.cancel()
                    self._close()
                await self._doors.until_closed()

    def stop(self) -> None:
        """Begin the orderly end: no new work, parked answers released, everything flushed and closed."""
        self._stopping.set()

    @cached_property
    def faults(self) -> Faults:
        """What is to go wrong, or to be held, because somebody asks for it."""
        from ottla.control.faults.engine import Faults

        return Faults(self.cluster, self.timer, self.services, self.parts.events, self._shared)

    def intercept(self, interceptor: Interceptor | None) -> None:
        """Let somebody step in between connections and handlers from now on; None: nobody any more."""
        self._shared.routes.intercept(interceptor)

    def record_requests(self) -> None:
        """Keep what clients ask from now on, and what they are answered."""
        from ottla.control.state.requests import RequestRecorder

        self.recorder = self._shared.recorder = RequestRecorder(self.parts.events)
        for listener in self._doors.listeners:
            listener.choose_call()

    async def advance(self, ms: int) -> None:
        """Move the virtual clock on; returns when all that was due has happened, each thing at its own time.

        One at a time: who comes meanwhile waits. Raises `Stopping` at the deadline at which the broker is stopped.
        """
        await self.clock_hand.advance(ms)

    @cached_property
    def clock_hand(self) -> ClockHand:
        """What moves the virtual clock."""
        from ottla.control.changes.clock_hand import ClockHand

        return ClockHand(self.parts, self._hold_clients, self._stopping.is_set)

    def _hold_clients(self, are_held: bool) -> None:
        """Take up nothing from clients, be they connected or about to; or go on."""
        self._shared.are_clients_held = are_held
        for connection in self.connections:
            if are_held:
                connection.hold()
            else:
                connection.let_go()

    async def reset(self) -> None:
        """Have it as it was at its start, with the clients that are connected. See `state.reset`."""
        from ottla.control.changes.reset import reset

        if "faults" in self.__dict__:
            self.faults.clear()
        await reset(self.parts, self.start_node)

    def _refuse_if_stopping(self) -> None:
        if self._stopping.is_set():
            raise Stopping

    async def stop_node(self, node_id: int, *, hard: bool = False) -> None:
        """Stop one node, as if its machine had died (`hard`), or in an orderly way: others lead first, and what its
        clients have asked is answered. A node that is stopped stays so. Raises `UnknownNode`, and `Stopping`.
        """
        broker_node, failover = self._node(node_id), self.services.failover
        node, listeners = broker_node.node, self._doors.of(broker_node)
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is not NodeState.UP:
                return
            self.events.tell(Kind.NODE_STOPPED, node_id=node_id, is_hard=hard)
            if hard:
                for listener in listeners:
                    listener.reset()
                failover.node_died(node)
                for listener in listeners:
                    await listener.refuse_all()
                for listener in listeners:
                    await listener.closed()
            else:
                failover.node_leaves(node)
                for listener in listeners:
                    await listener.refuse_all()
                for listener in listeners:
                    listener.finish()
                await self._doors.until_closed(listeners)
            broker_node.forget_clients()

    async def start_node(self, node_id: int) -> None:
        """Start a stopped node again, at the address it had. A node that is up stays so.

        Raises `UnknownNode`, `MachineRefused` if somebody else has taken the address, and `Stopping`.
        """
        broker_node, failover = self._node(node_id), self.services.failover
        node = broker_node.node
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is NodeState.UP:
                return
            await self._doors.reopen(broker_node, self._refuse_if_stopping)
            failover.node_returns(node)
            self.events.tell(Kind.NODE_STARTED, node_id=node_id)

    def node_state(self, node_id: int) -> NodeState:
        """Whether it is up. Raises `UnknownNode`."""
        return self.services.failover.state_of(self._node(node_id).node)

    def _node(self, node_id: int) -> BrokerNode:
        nodes = self.parts.nodes
        if node_id not in nodes:
            raise UnknownNode(node_id, list(nodes))
        return nodes[node_id]

    def _read_groups(self) -> None:
        """Begin to read the groups of a restarted broker, so that the sessions of those who don't come back end too.

        And its transactions: what was decided is carried out, and what nobody ends is aborted in time.
        """
        if GROUP_TOPIC in self.cluster.topics:
            _ = self.services.group_coordination
        if TRANSACTION_TOPIC in self.cluster.topics:
            _ = self.services.transaction_coordination

    async def _bind(self) -> None:
        if self._control_address is not None:
            control, self.control_url = await bind_control(
                self, self.parts, self._endpoints, self._control_address, self._control_token
            )
            self._doors.add_control(control, self._control_address)
        await self._doors.bind(self.parts.nodes.values())

    def _close(self) -> None:
        self._doors.stop_accepting()
        self.services.close()
        self._doors.close()

"""A whole broker: listeners for its nodes, what `assembly` builds behind them, and an orderly end.

`run` serves until `stop` is called. Everything that runs meanwhile belongs to its task group, so that nothing outlives
it; what fails there is said in the log and ends nothing else, see `supervision`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.assembly import Assembly, assemble
from ottla.broker.housekeeping import Housekeeping
from ottla.broker.network.endpoints import Endpoint, check_ports
from ottla.broker.network.listener import Listener, Shared
from ottla.broker.rounds import Round
from ottla.cluster.address import Address, MachineRefused
from ottla.cluster.failover import NodeState
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.events.kind import Kind
from ottla.purgatory import Clock, SystemClock, Timer
from ottla.settings.settings import ConfigError, Settings

if TYPE_CHECKING:
    from ottla.broker.authorizer import Authorizer
    from ottla.broker.control.http import ControlListener
    from ottla.broker.groups.coordination import WrapGroupLog
    from ottla.broker.network.interception import Interceptor
    from ottla.broker.node import BrokerNode
    from ottla.broker.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.node import Node
    from ottla.log.storage.contract import WrapStorage
    from ottla.log.storage.file_operations import FileOperations

#: How long clients have to take their last answers when the broker stops.
FLUSH_SECONDS_MAX: Final = 5.0


class UnknownNode(Exception):
    """There is no such node; the text says which there are."""

    def __init__(self, node_id: int, known: list[int]) -> None:
        super().__init__(f"there is no node {node_id}; the nodes are {', '.join(map(str, known))}")


class Stopping(Exception):
    """What was asked is not done, or not to its end, for the broker is being stopped."""

    def __init__(self) -> None:
        super().__init__("the broker is being stopped")


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
        on_groups_loaded: Callable[[], object] = lambda: None,
    ) -> None:
        """`endpoints`: the listeners of the first node; node i has its ports + i. `control`: where to answer scripts
        over HTTP, if anywhere, and `control_token`: what they have to know, if anything. `journal`: the file that tells
        what happens in groups. `data_dir`: where to keep everything; None: in memory. `authorizer`: who says what
        clients may do; None: they may do all. `wrap_storage`, `wrap_group_log`: put something around the storage of
        each log, or around the group log, such as a fault. `file_operations`: what changes the data directory; None:
        the system. `on_groups_loaded`: called once, when the groups that were there at the start have been read, if
        any. Raises `ConfigError`.
        """
        check_ports(endpoints, node_count)
        self.settings = settings
        self.log = log
        self.clock = clock or SystemClock()
        #: What it is made of, once it runs.
        self.parts: Assembly
        self._assemble = partial(
            assemble,
            settings,
            self.clock,
            log,
            node_count=node_count,
            wrap_storage=wrap_storage,
            wrap_group_log=wrap_group_log,
            on_groups_loaded=on_groups_loaded,
        )
        self._endpoints = endpoints
        self._listeners: list[Listener] = []
        self._journal_path = journal
        self.data_dir = data_dir
        self._file_operations = file_operations
        self._control_address = control
        self._control_token = control_token
        self._control: ControlListener | None = None
        self._shared = Shared(settings["socket.request.max.bytes"], authorizer)
        self._stopping = asyncio.Event()
        self._advancing = asyncio.Lock()
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
    def nodes(self) -> list[Node]:
        """Its nodes, up or not, the first one first."""
        return list(self.cluster.all_nodes.values())

    @property
    def addresses(self) -> list[Address]:
        """Where clients of the first listener reach each node."""
        return [node.address for node in self.nodes]

    @property
    def connection_counts(self) -> dict[int, int]:
        """How many clients are connected, by node id."""
        counts = dict.fromkeys(self.cluster.all_nodes, 0)
        for listener in self._listeners:
            counts[listener.node.node_id] += len(listener.connections)
        return counts

    @property
    def bootstrap(self) -> str:
        """What to give to a client as bootstrap servers."""
        return ",".join(map(str, self.addresses))

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Open the sockets, call `on_ready`, serve until `stop`.

        Raises `MachineRefused` if a socket, the journal or the data directory can't be had, and `ConfigError` if the
        control API would be open to other machines.
        """
        self.parts = self._assemble(asyncio.get_running_loop())
        with ExitStack() as at_end:
            at_end.callback(self.timer.close)
            at_end.callback(self._stop_accepting)
            self._keep_journal(at_end)
            await self._bind()  # not within the group, which would wrap a refusal
            await self._open_data_dir(at_end)
            if self._stopping.is_set():
                return
            async with self.parts.tasks:
                try:
                    await self._accept()
                    self._watch_idle_connections()
                    Housekeeping(self.cluster, self.timer, self.services.background, self.log)
                    self._read_groups()
                    on_ready()
                    await self._stopping.wait()
                finally:
                    self._close()
                await self._until_closed(self._all_listeners)

    def stop(self) -> None:
        """Begin the orderly end: no new work, parked answers released, everything flushed and closed."""
        self._stopping.set()

    def intercept(self, interceptor: Interceptor | None) -> None:
        """Let somebody step in between connections and handlers from now on; None: nobody any more."""
        self._shared.routes.intercept(interceptor)

    async def advance(self, ms: int) -> None:
        """Move the virtual clock on; returns when all that was due has happened, each thing at its own time.

        One at a time: who comes meanwhile waits. Raises `Stopping` at the deadline at which the broker is stopped.
        """
        async with self._advancing:
            if self.cluster.store is not None:
                self.cluster.store.keep_virtual_date(self.clock.wall_ms() + ms)
            await self.timer.advance(ms, settled=self._is_settled)
            self.parts.events.tell(Kind.TIME_ADVANCED, ms=ms)

    def _is_settled(self) -> bool:
        self._refuse_if_stopping()
        return self.services.is_settled

    def _refuse_if_stopping(self) -> None:
        if self._stopping.is_set():
            raise Stopping

    async def stop_node(self, node_id: int, *, hard: bool = False) -> None:
        """Stop one node, as if its machine had died (`hard`), or in an orderly way: others lead first, and what its
        clients have asked is answered. A node that is stopped stays so. Raises `UnknownNode`, and `Stopping`.
        """
        broker_node, failover = self._node(node_id), self.services.failover
        node, listeners = broker_node.node, self._listeners_of(broker_node)
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is not NodeState.UP:
                return
            self.parts.events.tell(Kind.NODE_STOPPED, node_id=node_id, is_hard=hard)
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
                await self._until_closed(listeners)
            broker_node.forget_clients()

    async def start_node(self, node_id: int) -> None:
        """Start a stopped node again, at the address it had. A node that is up stays so.

        Raises `UnknownNode`, `MachineRefused` if somebody else has taken the address, and `Stopping`.
        """
        broker_node, failover = self._node(node_id), self.services.failover
        node, listeners = broker_node.node, self._listeners_of(broker_node)
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is NodeState.UP:
                return
            await self._reopen(listeners)
            failover.node_returns(node)
            self.parts.events.tell(Kind.NODE_STARTED, node_id=node_id)

    def node_state(self, node_id: int) -> NodeState:
        """Whether it is up. Raises `UnknownNode`."""
        return self.services.failover.state_of(self._node(node_id).node)

    def _node(self, node_id: int) -> BrokerNode:
        nodes = self.parts.nodes
        if node_id not in nodes:
            raise UnknownNode(node_id, list(nodes))
        return nodes[node_id]

    def _listeners_of(self, node: BrokerNode) -> list[Listener]:
        return [listener for listener in self._listeners if listener.node is node]

    async def _reopen(self, listeners: Sequence[Listener]) -> None:
        """Have all of a node's listeners let clients in, or none."""
        for listener in listeners:
            try:
                await listener.reopen()
                self._refuse_if_stopping()  # while the address was looked up; `run` closes what was opened
                await listener.accept()
            except OSError as error:
                for opened in listeners:
                    await opened.refuse_all()
                raise listener.node.node.listens[listener.name].refused("node", error) from None

    async def _bind(self) -> None:
        """Bind every socket before any of them accepts, so that no client sees half a cluster."""
        if self._control_address is not None:
            await self._bind_control(self._control_address)
        for index, node in enumerate(self.parts.nodes.values()):
            for endpoint in self._endpoints:
                await self._open(Listener(node, self._shared, self.log, endpoint.name), endpoint, index)

    async def _open(self, listener: Listener, endpoint: Endpoint, index: int) -> None:
        """Bind a listener of the node with this index, and let the node know where that is."""
        self._listeners.append(listener)
        node, address = listener.node.node, endpoint.listen.plus(index)
        try:
            port = await listener.open(address.host, address.port)
        except OSError as error:
            raise address.refused(endpoint.option, error) from None
        node.listens[endpoint.name] = Address(address.host, port)
        if endpoint.advertise is not None:
            advertised = endpoint.advertise.plus(index)
            node.addresses[endpoint.name] = Address(advertised.host, advertised.port or port)

    async def _accept(self) -> None:
        """Let clients in. Somebody else may have begun to listen since the address was bound: then it can't be had."""
        options = {endpoint.name: endpoint.option for endpoint in self._endpoints}
        wanted: list[tuple[Listener | ControlListener, str, Address]] = [
            (listener, options[listener.name], listener.node.node.listens[listener.name])
            for listener in self._listeners
        ]
        if self._control is not None and self._control_address is not None:
            wanted.append((self._control, "--control", self._control_address))
        for listener, option, address in wanted:
            try:
                await listener.accept()
            except OSError as error:
                raise address.refused(option, error) from None

    async def _bind_control(self, address: Address) -> None:
        from ottla.broker.control.control import Control
        from ottla.broker.control.gate import Gate
        from ottla.broker.control.http import ControlListener

        gate = Gate(self._own_names(address), self._control_token)
        self._control = listener = ControlListener(Control(self), gate, self.parts.tasks, self.log)
        try:
            port = await listener.open(address.host, address.port)
        except OSError as error:
            raise address.refused("--control", error) from None
        if self._control_token is None and not listener.is_for_this_machine:
            raise ConfigError(
                f"--control {address} lets other machines in, and there they need a token; add --control-token-file "
                f"FILE, or listen with --control 127.0.0.1:{address.port}"
            )
        self.control_url = f"http://{Address(address.host, port)}"

    def _own_names(self, control: Address) -> list[str]:
        """By which names others may ask for this machine."""
        told = [
            address.host
            for endpoint in self._endpoints
            for address in (endpoint.listen, endpoint.advertise)
            if address is not None and not address.is_wildcard
        ]
        return [control.host, gethostname(), *told]

    @property
    def _all_listeners(self) -> list[Listener | ControlListener]:
        return [*self._listeners, *([] if self._control is None else [self._control])]

    def _read_groups(self) -> None:
        """Begin to read the groups of a restarted broker, so that the sessions of those who don't come back end too.

        And its transactions: what was decided is carried out, and what nobody ends is aborted in time.
        """
        if GROUP_TOPIC in self.cluster.topics:
            _ = self.services.group_coordination
        if TRANSACTION_TOPIC in self.cluster.topics:
            _ = self.services.transaction_coordination

    def _watch_idle_connections(self) -> None:
        """Close connections that have been silent for connections.max.idle.ms, or a little longer.

        A virtual clock jumps over hours in which real clients could not have sent anything, so it closes nobody.
        """
        idle_ms: int = self.settings["connections.max.idle.ms"]
        if idle_ms < 0 or self.clock.stands_still:
            return

        def look() -> None:
            for listener in self._listeners:
                listener.close_idle()

        Round(self.timer, self.services.background, self.log, "idle connections", look, lambda: idle_ms).start()

    async def _until_closed(self, listeners: Sequence[Listener | ControlListener]) -> None:
        """Let the last answers leave, for clients that take them."""
        try:
            async with asyncio.timeout(FLUSH_SECONDS_MAX):
                for listener in listeners:
                    await listener.closed()
        except TimeoutError:
            for listener in listeners:
                listener.abort()

    async def _open_data_dir(self, at_end: ExitStack) -> None:
        """Have everything there again before anybody asks."""
        if self.data_dir is not None:
            try:
                from ottla.cluster.persistence import Persistence
            except ImportError as error:
                raise MachineRefused(
                    f"--data-dir: logs on disk need what this system has not ({error}); leave it out to have them in "
                    "memory"
                ) from None
            from ottla.log.storage.file_operations import FileOperations

            persistence = Persistence(
                self.cluster, self.clock, self.data_dir, self._file_operations or FileOperations()
            )
            await persistence.open(self._stopping)
            at_end.callback(persistence.close)

    def _keep_journal(self, at_end: ExitStack) -> None:
        if self._journal_path is not None:
            from ottla.broker.groups.journal_file import keeping_journal

            at_end.enter_context(keeping_journal(self._journal_path, self.services.note_sinks, self.log))

    def _stop_accepting(self) -> None:
        for listener in self._all_listeners:
            listener.stop_accepting()

    def _close(self) -> None:
        self._stop_accepting()
        self.services.close()
        for listener in self._all_listeners:
            listener.close()

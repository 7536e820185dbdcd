"""A whole broker: listeners for its nodes, the cluster behind them, and an orderly end.

`run` serves until `stop` is called. Everything that runs meanwhile belongs to its task group, so that nothing outlives
it; what fails there is said in the log and ends nothing else, see `supervision`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.cluster.cluster import Cluster
from ottla.broker.cluster.failover import NodeState
from ottla.broker.cluster.node import Node
from ottla.broker.cluster.topic_names import GROUP_TOPIC
from ottla.broker.configs.settings import ConfigError, Settings
from ottla.broker.housekeeping import Housekeeping
from ottla.broker.network.address import PORT_MAX, Address
from ottla.broker.network.listener import Listener, Shared
from ottla.broker.rounds import Round
from ottla.broker.supervision import SupervisedTasks, TimerErrors
from ottla.purgatory import Clock, SystemClock, Timer

if TYPE_CHECKING:
    from ottla.broker.control.http import ControlListener
    from ottla.broker.storage.file_operations import FileOperations

#: How long clients have to take their last answers when the broker stops.
FLUSH_SECONDS_MAX: Final = 5.0
#: Every client connects to every node.
NODES_MAX: Final = 100


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
        listen: Address,
        log: Any,
        advertise: Address | None = None,
        node_count: int = 1,
        clock: Clock | None = None,
        control: Address | None = None,
        control_token: str | None = None,
        journal: Path | None = None,
        data_dir: Path | None = None,
    ) -> None:
        """`advertise`: what clients are told instead of `listen`; node i has its port + i. `control`: where to answer
        scripts over HTTP, if anywhere, and `control_token`: what they have to know, if anything. `journal`: the file
        that tells what happens in groups. `data_dir`: where to keep everything; None: in memory. Raises `ConfigError`.
        """
        _check_node_count(node_count, listen, advertise)
        if advertise is None and listen.is_wildcard:
            raise ConfigError(
                f"--listen {listen} accepts on every interface, but clients need one name to come back to; "
                f"add for example --advertise localhost:{listen.port or 9092}"
            )
        if advertise is not None and advertise.is_wildcard:
            raise ConfigError(f"--advertise {advertise} is no address to come back to; name one that clients reach")
        self.settings = settings
        self.log = log
        self.clock = clock or SystemClock()
        self.cluster = Cluster(settings, self.clock, log)
        self._listen = listen
        self._advertise = advertise
        first = settings.first_node_id
        self._nodes = [Node(node_id, self.cluster) for node_id in range(first, first + node_count)]
        self._listeners: list[Listener] = []
        self._journal_path = journal
        self.data_dir = data_dir
        #: What changes the data directory. None: the system.
        self.file_operations: FileOperations | None = None
        self._control_address = control
        self._control_token = control_token
        self._control: ControlListener | None = None
        self._stopping = asyncio.Event()
        self._advancing = asyncio.Lock()
        self._switching = asyncio.Lock()
        #: Where scripts are answered, once that socket is open.
        self.control_url: str | None = None

    @property
    def addresses(self) -> list[Address]:
        """Where clients reach each node."""
        return [node.address for node in self._nodes]

    @property
    def connection_counts(self) -> dict[int, int]:
        """How many clients are connected, by node id."""
        return {listener.node.node_id: len(listener.connections) for listener in self._listeners}

    @property
    def bootstrap(self) -> str:
        """What to give to a client as bootstrap servers."""
        return ",".join(map(str, self.addresses))

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Open the sockets, call `on_ready`, serve until `stop`.

        Raises `MachineRefused` if a socket, the journal or the data directory can't be had, and `ConfigError` if the
        control API would be open to other machines.
        """
        timer = self.cluster.timer = Timer(
            self.clock, loop=asyncio.get_running_loop(), on_error=TimerErrors(self.log, self.clock)
        )
        with ExitStack() as at_end:
            at_end.callback(timer.close)
            at_end.callback(self._stop_accepting)
            self._keep_journal(at_end)
            await self._bind()  # not within the group, which would wrap a refusal
            await self._open_data_dir(at_end)
            if self._stopping.is_set():
                return
            async with SupervisedTasks(self.log) as self.cluster.tasks:
                try:
                    await self._accept()
                    self._watch_idle_connections()
                    Housekeeping(self.cluster)
                    self._read_groups()
                    on_ready()
                    await self._stopping.wait()
                finally:
                    self._close()
                await self._until_closed(self._all_listeners)

    def stop(self) -> None:
        """Begin the orderly end: no new work, parked answers released, everything flushed and closed."""
        self._stopping.set()

    async def advance(self, ms: int) -> None:
        """Move the virtual clock on; returns when all that was due has happened, each thing at its own time.

        One at a time: who comes meanwhile waits. Raises `Stopping` at the deadline at which the broker is stopped.
        """
        async with self._advancing:
            if self.cluster.store is not None:
                self.cluster.store.keep_virtual_date(self.clock.wall_ms() + ms)
            await self.cluster.timer.advance(ms, settled=self._is_settled)

    def _is_settled(self) -> bool:
        self._refuse_if_stopping()
        return self.cluster.is_settled

    def _refuse_if_stopping(self) -> None:
        if self._stopping.is_set():
            raise Stopping

    async def stop_node(self, node_id: int, *, hard: bool = False) -> None:
        """Stop one node, as if its machine had died (`hard`), or in an orderly way: others lead first, and what its
        clients have asked is answered. A node that is stopped stays so. Raises `UnknownNode`, and `Stopping`.
        """
        listener = self._listener_of(node_id)
        node, failover = listener.node, self.cluster.failover
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is not NodeState.UP:
                return
            listener.log.info("node.stopped", is_hard=hard)
            if hard:
                listener.reset()
                failover.node_died(node)
                await listener.refuse_all()
                await listener.closed()
            else:
                failover.node_leaves(node)
                await listener.refuse_all()
                listener.finish()
                await self._until_closed([listener])
            node.forget_clients()

    async def start_node(self, node_id: int) -> None:
        """Start a stopped node again, at the address it had. A node that is up stays so.

        Raises `UnknownNode`, `MachineRefused` if somebody else has taken the address, and `Stopping`.
        """
        listener = self._listener_of(node_id)
        async with self._switching:
            self._refuse_if_stopping()
            if self.cluster.failover.state_of(listener.node) is NodeState.UP:
                return
            try:
                await listener.reopen()
                self._refuse_if_stopping()  # while the address was looked up; `run` closes what was opened
                await listener.accept()
            except OSError as error:
                raise listener.node.address.refused("node", error) from None
            self.cluster.failover.node_returns(listener.node)
            listener.log.info("node.started")

    def node_state(self, node_id: int) -> NodeState:
        """Whether it is up. Raises `UnknownNode`."""
        return self.cluster.failover.state_of(self._listener_of(node_id).node)

    def _listener_of(self, node_id: int) -> Listener:
        for listener in self._listeners:
            if listener.node.node_id == node_id:
                return listener
        raise UnknownNode(node_id, list(self.cluster.all_nodes))

    async def _bind(self) -> None:
        """Bind every socket before any of them accepts, so that no client sees half a cluster."""
        if self._control_address is not None:
            await self._bind_control(self._control_address)
        shared = Shared(self.settings["socket.request.max.bytes"])
        for index, node in enumerate(self._nodes):
            listener = Listener(node, shared, self.log)
            self._listeners.append(listener)
            address = self._listen.plus(index)
            try:
                port = await listener.open(address.host, address.port)
            except OSError as error:
                raise address.refused("--listen", error) from None
            advertised = (self._advertise or self._listen).plus(index)
            node.host = advertised.host
            node.port = advertised.port or port
            self.cluster.add_node(node)

    async def _accept(self) -> None:
        """Let clients in. Somebody else may have begun to listen since the address was bound: then it can't be had."""
        wanted: list[tuple[Listener | ControlListener, str, Address]] = [
            (listener, "--listen", self._listen.plus(index)) for index, listener in enumerate(self._listeners)
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
        self._control = listener = ControlListener(Control(self), gate, self.cluster)
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
        told = [address.host for address in (self._listen, self._advertise) if address and not address.is_wildcard]
        return [control.host, gethostname(), *told]

    @property
    def _all_listeners(self) -> list[Listener | ControlListener]:
        return [*self._listeners, *([] if self._control is None else [self._control])]

    def _read_groups(self) -> None:
        """Begin to read the groups of a restarted broker, so that the sessions of those who don't come back end too."""
        if GROUP_TOPIC in self.cluster.topics:
            _ = self.cluster.group_coordination

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

        Round(self.cluster, "idle connections", look, lambda: idle_ms).start()

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
            from ottla.broker.cluster.persistence import Persistence
            from ottla.broker.storage.file_operations import FileOperations

            persistence = Persistence(self.cluster, self.data_dir, self.file_operations or FileOperations())
            await persistence.open(self._stopping)
            at_end.callback(persistence.close)

    def _keep_journal(self, at_end: ExitStack) -> None:
        if self._journal_path is not None:
            from ottla.broker.groups.journal_file import keeping_journal

            at_end.enter_context(keeping_journal(self._journal_path, self.cluster))

    def _stop_accepting(self) -> None:
        for listener in self._all_listeners:
            listener.stop_accepting()

    def _close(self) -> None:
        self._stop_accepting()
        self.cluster.release_parked()
        for listener in self._all_listeners:
            listener.close()


def _check_node_count(node_count: int, listen: Address, advertise: Address | None) -> None:
    if not 1 <= node_count <= NODES_MAX:
        raise ConfigError(
            f"--nodes {node_count} is not from 1 to {NODES_MAX}; each is a socket every client connects to"
        )
    for option, address in (("--listen", listen), ("--advertise", advertise)):
        if address is not None and address.port + node_count - 1 > PORT_MAX:
            raise ConfigError(
                f"--nodes {node_count} with {option} {address} goes beyond port {PORT_MAX}, for node i has port + i; "
                f"choose a port up to {PORT_MAX - node_count + 1}, or fewer nodes"
            )

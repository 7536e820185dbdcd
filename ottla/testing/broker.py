"""A broker for tests: started in a thread of its own, stopped when the block ends.

    with Broker() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})

    async with Broker(nodes=3) as kafka: ...

    with Broker(clock="virtual") as kafka:
        kafka.advance(45_000)      # every session without a heartbeat for 45 s is over now

    with Broker(listen=["INTERNAL://0.0.0.0:9092", "HOST://127.0.0.1:0"], advertise="INTERNAL://kafka:9092") as kafka:
        kafka.bootstrap_servers_on("HOST")     # and containers use kafka:9092

    with Broker(nodes=3) as kafka:
        kafka.node(1).stop(hard=True)    # it dies; others lead and coordinate ottla.failover.ms later
        kafka.node(1).start()            # and it is back, at the address it had

It listens on a free port of 127.0.0.1, so any number of them can run side by side. Settings have Kafka's names; one
default differs: a group's first rebalance does not wait three seconds for more members, as in Kafka's own sample
configuration.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeVar

from ottla.control.attached.controlled_broker import AUTOJUMP_THRESHOLD_MS, ControlledBroker
from ottla.testing.clockwork import Clockwork
from ottla.testing.faulting import Faulting
from ottla.testing.looking import Looking

if TYPE_CHECKING:
    from ottla.control.changes.snapshot import Snapshot
    from ottla.control.state.timeline import History, Timeline
    from ottla.testing.async_broker import AsyncBroker
    from ottla.testing.trace.document import Trace

T = TypeVar("T")

#: Settings that differ from Kafka's defaults because this is a test.
TEST_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")
#: How long starting and stopping may take before something must be wrong.
_PATIENCE_S: Final = 30.0


class BrokerNode:
    """One node of a running broker. Stopped nodes can be started again, and the others serve meanwhile."""

    def __init__(self, broker: Broker, node_id: int) -> None:
        self._broker = broker
        self.node_id = node_id

    @property
    def bootstrap_server(self) -> str:
        """The node's address as host:port. A stopped node keeps it."""
        node = self._broker._running.server.cluster.all_nodes[self.node_id]
        return str(node.address)

    @property
    def state(self) -> Literal["up", "silent", "down"]:
        """Silent: the node has died, but metadata names it until ottla.failover.ms have passed."""
        return self._broker._running.nodes.state(self.node_id).value

    def stop(self, *, hard: bool = False) -> None:
        """Stop the node: partitions and groups move to other nodes, open requests are answered, connections end.

        hard: as if its machine died. Connections are reset and no request is answered. Other nodes take over after
        ottla.failover.ms; with a virtual clock, call `Broker.advance`.

        Returns when all connections are closed. No effect on a stopped node.
        """
        self._broker.call(self._broker._running.nodes.stop(self.node_id, hard=hard))

    def start(self) -> None:
        """Start the node again and return when it accepts connections. No effect on a node that is up."""
        self._broker.call(self._broker._running.nodes.start(self.node_id))


class Broker(Looking, Clockwork, Faulting):
    """A running broker, and what a test may do with it."""

    #: Called with each broker of this process before it starts.
    on_start: ClassVar[Callable[[Broker], object] | None] = None

    def __init__(
        self,
        *,
        nodes: int = 1,
        clock: Literal["system", "virtual", "auto"] = "system",
        settings: Mapping[str, object] | None = None,
        listen: str | Sequence[str] = (),
        advertise: str | Sequence[str] = (),
        log_level: str = "warning",
        data_dir: str | Path | None = None,
        record_requests: bool = False,
        seed: str | Path | None = None,
        journal: str | Path | None = None,
        control: str | None = None,
        autojump_threshold_ms: int = AUTOJUMP_THRESHOLD_MS,
    ) -> None:
        """
        nodes: the number of brokers that clients see (default 1).
        clock: "virtual": time stands still until `advance`. "auto": time also jumps to the next deadline when all
            clients wait; see docs/time.md first (default "system").
        settings: broker settings by Kafka's names, such as {"num.partitions": 3}.
        listen: [NAME://]HOST:PORT of the first node, or a list of them; port 0 picks a free one for each (default:
            127.0.0.1:0, unless the settings have listeners).
        advertise: [NAME://]HOST:PORT that clients of a listener get instead, or a list of them.
        log_level: the lowest level of the log on stderr: debug, info, warning or error.
        data_dir: the directory for all data; a later broker continues with it (default: in memory).
        record_requests: keep requests and answers, for `requests` and `assert_received`.
        journal: a file for the events of groups; docs/journal.md describes it.
        control: HOST:PORT of the control API, see docs/control.md; port 0 picks a free one, and `control_url` has it.
        seed: a file with topics, records and committed offsets to start with; docs/testing.md describes its format.
        autojump_threshold_ms: with the clock "auto", the real time without incoming bytes before a jump (default 50).
        """
        if clock not in ("system", "virtual", "auto"):
            raise ValueError(f"clock is system, virtual or auto, not {clock}")
        if log_level not in _LOG_LEVELS:
            raise ValueError(f"log_level is one of {', '.join(_LOG_LEVELS)}, not {log_level}")
        from ottla.broker.network.endpoints import read_endpoints
        from ottla.cluster.address import Address
        from ottla.settings.settings import ConfigError, Settings

        self._nodes = nodes
        self._clock: Literal["system", "virtual", "auto"] = clock
        self._autojump_threshold_ms = autojump_threshold_ms
        self._given = {**TEST_SETTINGS, **{name: setting_text(value) for name, value in (settings or {}).items()}}
        self._settings = Settings(self._given)
        if self._settings.unknown:
            raise ConfigError(_unknown_setting(next(iter(self._settings.unknown))))
        self._listen = _words(listen)
        self._endpoints = read_endpoints(self._settings, self._listen, _words(advertise), default="127.0.0.1:0")
        self._log_level = log_level
        self.record_requests = record_requests
        self._seed = None if seed is None else Path(seed)
        self._journal = None if journal is None else Path(journal)
        self._control = None if control is None else Address.parse(control, "control")
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._controlled: ControlledBroker | None = None
        self._history: History | None = None
        #: What there is from the start on; None: nothing.
        self._beginning: Snapshot | None = None
        self._ready: Future[None] = Future()

    def fork(self) -> Broker:
        """Another broker, made as this one was, on free ports, that begins with what this one has now.

            with kafka.fork() as other: ...

        Raises `SnapshotRefused` where logs are on disk.
        """
        other = Broker(
            nodes=self._nodes,
            clock=self._clock,
            settings=self._given,
            listen=[f"{address.rpartition(':')[0]}:0" for address in self._listen],
            log_level=self._log_level,
            record_requests=self.record_requests,
            autojump_threshold_ms=self._autojump_threshold_ms,
        )
        other._beginning = self.snapshot()
        return other

    @property
    def bootstrap_servers(self) -> str:
        """The `bootstrap.servers` for clients: every node as host:port, separated by commas."""
        return self._running.server.bootstrap

    def bootstrap_servers_on(self, listener: str) -> str:
        """The `bootstrap.servers` for clients of this listener. Raises `ValueError`."""
        nodes, name = self._running.server.nodes, listener.upper()
        if name not in nodes[0].addresses:
            raise ValueError(f"no listener {listener} is advertised; those are {', '.join(nodes[0].addresses)}")
        return ",".join(str(node.addresses[name]) for node in nodes)

    @property
    def control_url(self) -> str | None:
        """The URL of the control API; None without one."""
        return self._running.control_url

    def node(self, node_id: int) -> BrokerNode:
        """One of the nodes, to stop and to start. Ids start at 1, or at node.id. Raises `ValueError`."""
        known = self._running.server.cluster.all_nodes
        if node_id not in known:
            raise ValueError(f"there is no node {node_id}; the nodes are {', '.join(map(str, known))}")
        return BrokerNode(self, node_id)

    @property
    def aio(self) -> AsyncBroker:
        """The same for a test with an event loop of its own: what takes a while is awaited."""
        from ottla.testing.async_broker import AsyncBroker

        return AsyncBroker(self)

    @property
    def is_running(self) -> bool:
        """Whether the broker is up."""
        return self.has_started and self._thread is not None and self._thread.is_alive()

    @property
    def has_started(self) -> bool:
        """Whether the broker was ever up."""
        return self._history is not None

    def start(self) -> Self:
        """Start the broker and return when it accepts connections. Raises the error that prevents the start."""
        if self._thread is not None:
            raise RuntimeError("this broker has been started already; make another one")
        if Broker.on_start is not None:
            Broker.on_start(self)
        self._thread = threading.Thread(target=self._run, name="ottla", daemon=True)
        self._thread.start()
        try:
            self._ready.result(_PATIENCE_S)
            if self._beginning is not None:
                self.restore(self._beginning)
        except BaseException:
            self._call_off()
            raise
        return self

    def _call_off(self) -> None:
        """Stop a broker whose block was not entered. One that is not up yet stops when it is."""
        self._ready.cancel()
        if self.has_started:
            self.stop()

    def stop(self) -> None:
        """Stop the broker: parked requests are answered, connections closed. A second stop has no effect."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        server = self._running.server
        with suppress(RuntimeError):  # it has ended by itself meanwhile
            self._loop.call_soon_threadsafe(server.stop)
        thread.join(_PATIENCE_S)
        if thread.is_alive():
            raise RuntimeError(f"the broker has not stopped within {_PATIENCE_S:.0f} s")

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the broker's loop and return its result. Raises `RuntimeError` once it has stopped."""
        if self._thread is None or not self._thread.is_alive():
            work.close()
            raise RuntimeError("this broker has stopped")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(_PATIENCE_S)
        except TimeoutError:
            if future.done():
                raise
            raise TimeoutError(f"the broker is busy: it has not done this within {_PATIENCE_S:.0f} s") from None

    def timeline_since(self, mark: int) -> Timeline:
        """All events since this mark. The broker need not run."""
        history = self._known_history
        if not self.is_running:
            return history.timeline(mark)
        return self.look(lambda _broker: history.timeline(mark))

    def trace(self, title: str = "Ottla", outcome: Literal["passed", "failed"] | None = None) -> Trace:
        """All events since the start, and the recorded requests. The broker need not run."""
        from ottla.testing.trace.of_broker import trace_of

        def traced(broker: ControlledBroker) -> Trace:
            return trace_of(history, broker.recorder, title=title, outcome=outcome)

        history = self._known_history
        if not self.is_running:
            return traced(self._running)
        return self.look(traced)

    def write_trace(self, path: str | Path, title: str = "Ottla") -> None:
        """Write the trace as a page for the browser: see docs/trace.md. Raises `OSError`."""
        from ottla.testing.trace.page import write_page

        write_page(Path(path), [self.trace(title).as_json()], title)

    def _move(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> T:
        if self._clock == "system":
            raise RuntimeError(
                'the time of this broker is the machine\'s, and nobody can move it; make it with clock="virtual": '
                '@pytest.mark.kafka(clock="virtual"), or Broker(clock="virtual")'
            )
        return self.call(work(self._running))

    def _begin(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> Future[T]:
        broker = self._running
        if self._thread is None or not self._thread.is_alive():
            raise RuntimeError("this broker has stopped")
        return asyncio.run_coroutine_threadsafe(work(broker), self._loop)

    @property
    def _known_history(self) -> History:
        if self._history is None:
            raise RuntimeError("this broker has not been started: use it in a with block, or call start()")
        return self._history

    @property
    def _running(self) -> ControlledBroker:
        """The broker that the thread runs, or has run. Raises `RuntimeError` before it is made."""
        if self._controlled is None:
            raise RuntimeError("this broker has not been started: use it in a with block, or call start()")
        return self._controlled

    def _run(self) -> None:
        from ottla.broker.lifecycle.event_loop import new_event_loop

        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    async def _serve(self) -> None:
        from ottla.broker.lifecycle.platform import Platform
        from ottla.broker.lifecycle.server import Server
        from ottla.broker.reporting.structured_log import make_log
        from ottla.purgatory import SystemClock, VirtualClock

        self._loop = asyncio.get_running_loop()
        server = Server(
            self._settings,
            endpoints=self._endpoints,
            node_count=self._nodes,
            platform=Platform(clock=SystemClock() if self._clock == "system" else VirtualClock()),
            log=make_log(self._log_level, "console"),
            data_dir=self._data_dir,
            journal=self._journal,
        )
        self._controlled = ControlledBroker(
            server,
            seed=self._seed,
            autojump_threshold_ms=self._autojump_threshold_ms if self._clock == "auto" else None,
        )
        if self._control is not None:
            from ottla.control.api.attachment import ControlApi

            server.attach(ControlApi(self._controlled, self._control))
        await server.run(on_ready=self._begin_to_serve)

    def _begin_to_serve(self) -> None:
        from ottla.control.state.timeline import History

        broker = self._running
        if not self._ready.set_running_or_notify_cancel():
            broker.server.stop()  # the caller has given up
            return
        self._history = History(broker.server.events, broker.server.clock.now_ms())
        if self.record_requests:
            broker.record_requests()
        self._ready.set_result(None)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self.is_running:
                self.check_faults()
        finally:
            self.stop()

    async def __aenter__(self) -> Self:
        starting = asyncio.get_running_loop().run_in_executor(None, self.start)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:  # a block that was not entered is not left
            with suppress(Exception):
                await starting
            await asyncio.to_thread(self.stop)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)


def _words(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given


def setting_text(value: object) -> str:
    """A setting as a properties file would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unknown_setting(name: str) -> str:
    """What is said of it: in a test it is a mistake, and the test would be about another broker than it says."""
    from ottla.settings.table import all_settings
    from ottla.text.nearest import nearest

    return f"there is no setting {name}; {nearest(name, all_settings())}"

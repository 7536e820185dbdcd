"""A whole broker in a thread of its own, whose log and insides a test may look at.

    with RunningBroker(loop="asyncio debug") as broker:
        with Client(broker.bootstrap) as ana: ...
        broker.wait_until("nobody is connected", lambda: not broker.connections)
        assert broker.log.named("connection.refused")

`ottla.testing.Broker` is for users; this one chooses the event loop, keeps the log, and at the end holds the broker to
what must be true after any test: nothing of it has failed, unless the test says so, and no task is left.
"""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar

import pytest

from ottla.broker.lifecycle.event_loop import new_event_loop
from ottla.broker.lifecycle.platform import Platform
from ottla.broker.lifecycle.server import Server
from ottla.broker.network.connection import Connection
from ottla.broker.network.endpoints import read_endpoints
from ottla.cluster.address import Address
from ottla.control.api.attachment import ControlApi
from ottla.control.attached.controlled_broker import ControlledBroker
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.log.storage.file_operations import FileOperations
from ottla.purgatory import Clock, SystemClock
from ottla.settings.settings import Settings
from tests.broker.scene import Log
from tests.support.patience import PATIENCE_SECONDS

T = TypeVar("T")


class KeptLog(Log):
    """A `Log` that keeps with each exception where it was raised."""

    def error(self, event: str, exc_info: BaseException | None = None, **keys: Any) -> None:
        if exc_info is not None:
            keys["traceback"] = "".join(traceback.format_exception(exc_info))
        self.info(event, **keys)


#: "best": the one that Ottla takes by itself, which is uvloop's if there is one.
Loop: TypeAlias = Literal["best", "asyncio", "asyncio debug"]

_TEST_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
_FACTORIES: Final[Mapping[Loop, Callable[[], asyncio.AbstractEventLoop]]] = {
    "best": new_event_loop,
    "asyncio": asyncio.new_event_loop,
    "asyncio debug": asyncio.new_event_loop,
}

#: For tests of what depends on the loop.
every_loop: Final = pytest.mark.parametrize("loop", list(_FACTORIES), ids=lambda name: name.replace(" ", "-"))


class RunningBroker:
    """A broker that is up inside the `with`."""

    def __init__(
        self,
        loop: Loop = "best",
        *,
        settings: Mapping[str, object] | None = None,
        nodes: int = 1,
        clock: Clock | None = None,
        may_fail: bool = False,
        data_dir: Path | None = None,
        listen: Sequence[str] = (),
        advertise: Sequence[str] = (),
        with_control: bool = False,
        operations: FileOperations | None = None,
        **parts: Any,
    ) -> None:
        """`may_fail`: whether the test makes something of the broker's own go wrong. `listen` and `advertise`: as
        the options of that name have it (default: a free port). `with_control`: whether it has a control API, at
        `control`. `operations`: what changes the data directory; None: the system. `parts` are further ones of
        `Server`.
        """
        self.log = KeptLog()
        #: What reached the loop's exception handler.
        self.loop_errors: list[dict[str, Any]] = []
        self.server: Server
        self.controlled: ControlledBroker
        self._loop_name = loop
        self._loop: asyncio.AbstractEventLoop
        self._settings = _TEST_SETTINGS | {name: str(value) for name, value in (settings or {}).items()}
        self._nodes = nodes
        self._clock = clock or SystemClock()
        self._may_fail = may_fail
        self._listen = listen
        self._advertise = advertise
        self._parts = parts
        self._data_dir = data_dir
        self._with_control = with_control
        self._operations = operations
        self._ready: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)

    @property
    def bootstrap(self) -> str:
        """The address of the first node."""
        return self.server.bootstrap.partition(",")[0]

    def bootstrap_on(self, node_id: int, listener: str) -> str:
        """Where a node listens under this name, whatever it tells its clients."""
        return str(self.server.cluster.all_nodes[node_id].listens[listener])

    @property
    def control(self) -> str:
        """HOST:PORT of the control API."""
        assert self.controlled.control_url is not None
        return self.controlled.control_url.removeprefix("http://")

    @property
    def connections(self) -> set[Connection]:
        """Those of the first node."""
        return self.server.sockets.listeners[0].connections

    def connection_of(self, client_port: int) -> Connection | None:
        """The broker's end of a client's connection, if it is still there. For the broker's thread."""
        for connection in self.connections:
            peer = connection._transport.get_extra_info("peername")
            if peer is not None and peer[1] == client_port:
                return connection
        return None

    @property
    def coordinator(self) -> Coordinator:
        """That of the first node."""
        return next(iter(self.server.parts.nodes.values())).coordinator

    @property
    def refusals(self) -> list[str]:
        """Why connections were closed, so far."""
        return [keys["reason"] for keys in self.log.named("connection.refused")]

    @property
    def failures(self) -> list[Any]:
        """What went wrong in the broker, so far."""
        failed = ("connection.failed", "request.failed", "group.failed", "control.failed")
        return [*(keys for event in failed for keys in self.log.named(event)), *self.loop_errors]

    def look(self, function: Callable[[], T]) -> T:
        """Call a function in the broker's thread."""

        async def call() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(PATIENCE_SECONDS)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the broker's loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    def wait_until(self, what: str, condition: Callable[[], object]) -> None:
        """Return when the condition, asked in the broker's thread, is true; fails if that takes too long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.look(condition):
            if time.monotonic() > deadline:
                pytest.fail(f"not true within {PATIENCE_SECONDS:.0f} s: {what}")
            time.sleep(0.001)

    def advance(self, ms: int) -> None:
        """Move the virtual clock on."""
        self.run(self.controlled.time.advance(ms))

    def stop(self) -> None:
        """Stop it in order; raises what it ended with."""
        if not self._ended.done():
            self._loop.call_soon_threadsafe(self.server.stop)
        self._ended.result(PATIENCE_SECONDS)

    def _run(self) -> None:
        try:
            with asyncio.Runner(
                loop_factory=_FACTORIES[self._loop_name], debug=self._loop_name == "asyncio debug"
            ) as runner:
                runner.run(self._serve())
        except BaseException as error:
            (self._ended if self._ready.done() else self._ready).set_exception(error)
        else:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda _loop, context: self.loop_errors.append(context))
        settings = Settings(self._settings)
        self.server = Server(
            settings,
            endpoints=read_endpoints(settings, self._listen, self._advertise, default="127.0.0.1:0"),
            node_count=self._nodes,
            platform=Platform(clock=self._clock, file_operations=self._operations),
            log=self.log,
            data_dir=self._data_dir,
            **self._parts,
        )
        self.controlled = ControlledBroker(self.server)
        if self._with_control:
            self.server.attach(ControlApi(self.controlled, Address("127.0.0.1", 0)))
        await self.server.run(on_ready=lambda: self._ready.set_result(None))
        left = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, f"tasks outlived the broker: {left}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.result(PATIENCE_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join(PATIENCE_SECONDS)
        if error is None and not self._may_fail:
            assert not self.failures, self.failures

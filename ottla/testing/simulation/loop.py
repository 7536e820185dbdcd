"""An event loop on simulated time: when no task has anything to do, time moves on at once.

A turn of the loop takes ten microseconds, so that code that polls the clock gets on. When no callback is
ready time jumps to the next one that is scheduled: an hour takes as long as what happens in it. Tasks that are ready in
the same turn run in an order by seed. asyncio runs them first come, first served; but which comes first
is chance as soon as sockets are real. Everything else keeps asyncio's order.

Nothing here waits for the machine. Sockets are `Network`'s, and a function for an executor is run at once, where it is
asked for. What can't be simulated is refused by `NotSimulated`, never done in the real world by mistake.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from math import ceil
from random import Random
from typing import Any, Final

from ottla.testing.simulation.host import host_of
from ottla.testing.simulation.network import Network, SimulatedServer
from ottla.testing.simulation.refused import NothingWillHappen, NotSimulated

_NS_PER_S: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000
_TURN_NS: Final = 10_000
#: How many waiting tasks are named when nothing will happen.
_NAMED_MAX: Final = 20


class SimulatedFuture(asyncio.Future[Any]):
    """A future whose place in a set doesn't depend on where in memory it is."""

    #: Set by the loop, which makes thousands of them.
    _number: int

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedTask(asyncio.Task[Any]):
    """A task for which the same holds."""

    def __init__(self, number: int, coro: Coroutine[Any, Any, Any], **keys: Any) -> None:
        self._number = number
        super().__init__(coro, **keys)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedLoop(asyncio.BaseEventLoop):
    """The loop of one simulation."""

    # asyncio's own, which its stubs don't show
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int
    _stopping: bool

    def __init__(self, seed: int, *, latency_ms: tuple[float, float], limit_s: float) -> None:
        """`limit_s`: how late it may become."""
        super().__init__()
        self._now_ns = 0
        self._limit_ns: int | None = round(limit_s * _NS_PER_S)
        self._random_source = Random(f"order {seed}")
        self._numbers = itertools.count()
        self.network = Network(self, Random(f"network {seed}"), latency_ms)
        #: How far it has come is counted in this thread alone.
        self.thread_id = threading.get_ident()
        self.set_task_factory(self._new_task)  # type: ignore[arg-type]  # a task like any other

    # --- time ---

    def time(self) -> float:
        return self._now_ns / _NS_PER_S

    @property
    def now_ms(self) -> int:
        """The whole milliseconds since the beginning."""
        return self._now_ns // _NS_PER_MS

    @property
    def now_ns(self) -> int:
        """The same in nanoseconds."""
        return self._now_ns

    def pass_time(self, seconds: float) -> None:
        """Let it become later while a callback runs, as if it had taken so long."""
        self._now_ns += round(seconds * _NS_PER_S)

    def begin_the_end(self) -> None:
        """Let the tasks that are left clean up, on dead hosts too, however late it becomes."""
        self._limit_ns = None
        for host in self.network.hosts:
            host.is_dead = False
            self._ready.extend(host.never_run)
            host.never_run.clear()

    def _run_once(self) -> None:
        scheduled, ready = self._scheduled, self._ready
        while scheduled and scheduled[0]._cancelled:
            self._take_scheduled()
            self._timer_cancelled_count -= 1
        if not ready and not self._stopping:
            self._jump()
        self._now_ns += _TURN_NS
        now_s = self.time()
        while scheduled and scheduled[0].when() <= now_s:
            ready.append(self._take_scheduled())
        if len(ready) > 1:
            self._shuffle()
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            host = host_of(handle._context)  # type: ignore[attr-defined]
            if host is not None and host.is_dead:
                host.never_run.append(handle)
            else:
                handle._run()

    def _jump(self) -> None:
        """No task has anything to do: move time on."""
        if not self._scheduled:
            raise NothingWillHappen(f"everybody waits, and nothing is scheduled: {self._waiting()}")
        due_ns = ceil(self._scheduled[0].when() * _NS_PER_S)
        if self._limit_ns is not None and due_ns > self._limit_ns:
            raise NothingWillHappen(f"it is not over after {self._limit_ns // _NS_PER_S} s: {self._waiting()}")
        self._now_ns = max(self._now_ns, due_ns)

    def _take_scheduled(self) -> asyncio.TimerHandle:
        handle = heapq.heappop(self._scheduled)
        handle._scheduled = False  # type: ignore[attr-defined]
        return handle

    def _shuffle(self) -> None:
        """Have the tasks among those that are ready take turns in an order by seed."""
        ready = self._ready
        places = [place for place, handle in enumerate(ready) if _is_task(handle)]
        if len(places) > 1:
            handles = [ready[place] for place in places]
            self._random_source.shuffle(handles)
            for place, handle in zip(places, handles, strict=True):
                ready[place] = handle

    def _waiting(self) -> str:
        names = [f"{task.get_name()} ({task.get_coro().__qualname__})" for task in self.tasks]  # type: ignore[union-attr]
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        return ", ".join(names[:_NAMED_MAX]) + more

    # --- tasks and futures ---

    @property
    def tasks(self) -> list[SimulatedTask]:
        """Those that are not done, the oldest first."""
        return sorted((task for task in asyncio.all_tasks(self) if isinstance(task, SimulatedTask)), key=hash)

    def create_future(self) -> asyncio.Future[Any]:
        future = SimulatedFuture(loop=self)
        future._number = next(self._numbers)
        return future

    def _new_task(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **keys: Any
    ) -> asyncio.Task[Any]:
        return SimulatedTask(next(self._numbers), coro, loop=loop, **keys)

    # --- what would be the machine's ---

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **keys: Any) -> Any:
        if keys.get("ssl"):
            raise NotSimulated("TLS")
        if keys.get("sock") is not None:
            raise NotSimulated("a socket of the machine's")
        return await self.network.connect(protocol_factory, host, int(port))

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **keys: Any) -> Any:
        if keys.get("ssl"):
            raise NotSimulated("TLS")
        if keys.get("sock") is not None:
            raise NotSimulated("a socket of the machine's")
        server = self.network.listen(protocol_factory, host, port)
        if keys.get("start_serving", True):
            await server.start_serving()
        return server

    async def hold_address(self, _family: int, address: tuple[str, int]) -> SimulatedServer:
        """For a node that is stopped: nothing listens at the address, and no other server can bind it."""
        return self.network.listen(asyncio.Protocol, *address)

    async def getaddrinfo(self, host: Any, port: Any, **_keys: Any) -> Any:
        import socket

        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        """Run it here and now; it must not wait for anything that happens in the loop."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self.thread_id:
            raise NotSimulated("another thread")
        return self.call_soon(callback, *args, context=context)

    def _write_to_self(self) -> None:
        """There is no sleeping selector to wake."""

    def _process_events(self, event_list: Any) -> None:
        """There are none."""


def _is_task(handle: asyncio.Handle) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)  # type: ignore[attr-defined]


def _refuse(method: str) -> Callable[..., Any]:
    def refuse(_self: SimulatedLoop, *_args: Any, **_keys: Any) -> Any:
        raise NotSimulated(f"loop.{method}")

    return refuse


for _method in (
    *("add_reader", "add_writer", "remove_reader", "remove_writer", "add_signal_handler", "remove_signal_handler"),
    *("connect_accepted_socket", "connect_read_pipe", "connect_write_pipe", "start_tls", "sendfile"),
    *("create_datagram_endpoint", "create_unix_connection", "create_unix_server", "getnameinfo"),
    *("sock_accept", "sock_connect", "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_sendall", "sock_sendfile"),
    *("subprocess_exec", "subprocess_shell"),
):
    setattr(SimulatedLoop, _method, _refuse(_method))

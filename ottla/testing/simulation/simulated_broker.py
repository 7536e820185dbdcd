"""The broker of a simulation, as the story has it: what `kafka.aio` has, where broker and test are in one loop.

What waits is awaited, and lasts simulated seconds. Everything else is done at once: the caller is inside already. But
it is done outside of any host, also for a program on one: what the broker has begun goes on when that host dies.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from ottla.control.state.timeline import History
from ottla.testing.aio import AsyncLooking
from ottla.testing.faulting import Faulting

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.conditions import Condition
    from ottla.control.state.timeline import Timeline
    from ottla.events.stream import Event
    from ottla.testing.simulation.host import Host
    from ottla.testing.simulation.loop import SimulatedLoop

T = TypeVar("T")


class SimulatedBroker(AsyncLooking, Faulting):
    """The broker of a simulation, as the story has it. What waits is awaited, and lasts simulated seconds."""

    def __init__(self, broker: ControlledBroker, loop: SimulatedLoop) -> None:
        super().__init__(self)
        self._broker = broker
        self._loop = loop
        #: What the broker's work is done in: the story's, which is on no host.
        self._context = copy_context()
        self._events: list[str] = []
        self._history = History(broker.server.events, loop.now_ms)
        self._stop_recording = broker.server.events.read(self._record)

    @property
    def bootstrap_servers(self) -> str:
        """The `bootstrap.servers` for clients."""
        return self._broker.server.bootstrap

    @property
    def now_ms(self) -> int:
        """How late it is, in whole milliseconds since the story began."""
        return self._loop.now_ms

    @property
    def events(self) -> list[str]:
        """What has happened in the broker, each event a line of JSON. The same seed gives the same lines."""
        return list(self._events)

    def host(self, name: str) -> Host:
        """A machine for clients to run on, which can be cut off or die: `kafka.host("ana").run(consume())`."""
        return self._loop.network.host(name)

    async def stop_node(self, node_id: int, *, hard: bool = False) -> None:
        """Stop one of its nodes, in an orderly way or as if it died; as `BrokerNode.stop`."""
        await self.run_in_loop(lambda broker: broker.nodes.stop(node_id, hard=hard))

    async def start_node(self, node_id: int) -> None:
        """Start it again, at the address it had."""
        await self.run_in_loop(lambda broker: broker.nodes.start(node_id))

    # --- the way inside: the caller is there already ---

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this and return what it returns."""
        return self._context.copy().run(at, self._broker)

    def wait(self, condition: Condition[T], timeout_s: float) -> T:
        """Refused: a wait in the only thread there is would last for ever."""
        raise RuntimeError(
            f"to wait for {condition.said} in a simulation, await it: await kafka.group(...).wait_for(...)"
        )

    def run(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> T:
        """Refused, for the same reason."""
        work(self._broker).close()
        raise RuntimeError("in a simulation, await it")

    def wait_in_loop(self, condition: Condition[T], timeout_s: float) -> Awaitable[T]:
        """Await what there is when the condition holds. Raises `NotInTime`."""
        return self.run_in_loop(lambda broker: broker.waiting.until(condition, timeout_s))

    def run_in_loop(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        """Await a coroutine."""
        return self._loop.create_task(work(self._broker), context=self._context.copy())

    def timeline_since(self, mark: int, /) -> Timeline:
        """What has happened since this mark."""
        return self._history.timeline(mark)

    def stop_recording(self) -> None:
        """The story is told."""
        self._stop_recording()
        self._history.close()

    def _record(self, event: Event) -> None:
        said = {
            "sequence": event.sequence,
            "now_ms": event.now_ms,
            "wall_ms": event.wall_ms,
            "node_id": event.node_id,
            "kind": event.kind.name,
            "details": event.details,
        }
        self._events.append(json.dumps(said, default=str))

"""A test in which client and broker share one event loop on simulated time.

    @simulated()
    async def test_orders_are_counted_again_when_a_consumer_dies(kafka): ...

    Simulation(seed=7, nodes=3).run(story)         # anywhere else

What is left to chance comes from the seed: in which order tasks run that are ready at the same time, how long messages
take, every id of the broker and of the program. The same seed tells the same story, event by event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, Final, TypeVar

from ottla.broker.lifecycle.platform import Platform
from ottla.broker.lifecycle.server import Server
from ottla.broker.network.endpoints import read_endpoints
from ottla.broker.reporting.structured_log import make_log
from ottla.control.attached.controlled_broker import ControlledBroker
from ottla.settings.settings import Settings
from ottla.testing.broker import TEST_SETTINGS, setting_text
from ottla.testing.simulation.loop import SimulatedLoop
from ottla.testing.simulation.simulated_broker import SimulatedBroker
from ottla.testing.simulation.world import SimulatedClock, simulated_world

T = TypeVar("T")

#: How long a look at the stopwatch takes in a simulation: long work is cut into slices at the same places every time.
_LOOK_S: Final = 20e-6
#: How late it may become.
LIMIT_S: Final = 3_600.0
#: How often a task is cancelled at the end: some clients' tasks go on after the first time.
_CANCELS_MAX: Final = 5
#: How long tasks have at the end to clean up, and connections to close at both ends.
_LINGER_S: Final = 60
LATENCY_MS: Final = (0.05, 1.0)


class Simulation:
    """One run of a story. It runs once."""

    def __init__(
        self,
        seed: int = 0,
        *,
        nodes: int = 1,
        settings: Mapping[str, object] | None = None,
        latency_ms: tuple[float, float] = LATENCY_MS,
        limit_s: float = LIMIT_S,
        log_level: str = "warning",
    ) -> None:
        """
        nodes, settings, log_level: as for a `Broker`.
        latency_ms: how long a message takes on the network, at least and at most (default 0.05 to 1).
        limit_s: how many seconds of simulated time the story may take; then it fails and says who waits (3600).
        """
        self.seed = seed
        self._nodes = nodes
        self._settings = {**TEST_SETTINGS, **{name: setting_text(value) for name, value in (settings or {}).items()}}
        self._latency_ms = latency_ms
        self._limit_s = limit_s
        self._log_level = log_level
        #: What happened in the broker, when it is over.
        self.events: list[str] = []

    def run(self, story: Callable[[SimulatedBroker], Coroutine[Any, Any, T]]) -> T:
        """Run the story; returns its result, and raises its errors."""
        loop = SimulatedLoop(self.seed, latency_ms=self._latency_ms, limit_s=self._limit_s)
        try:
            with simulated_world(loop, self.seed):
                try:
                    return loop.run_until_complete(self._tell(loop, story))
                finally:
                    _end_tasks(loop)
        finally:
            loop.close()

    async def _tell(self, loop: SimulatedLoop, story: Callable[[SimulatedBroker], Coroutine[Any, Any, T]]) -> T:
        broker = self._make_broker(loop)
        server = broker.server
        is_ready = loop.create_future()
        running = loop.create_task(server.run(on_ready=lambda: is_ready.set_result(None)), name="broker")
        await asyncio.wait([running, is_ready], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        kafka = SimulatedBroker(broker, loop)
        try:
            told = await story(kafka)
            kafka.check_faults()
            return told
        finally:
            kafka.stop_recording()
            self.events = kafka.events
            server.stop()
            await running

    def _make_broker(self, loop: SimulatedLoop) -> ControlledBroker:
        settings = Settings(self._settings)
        looks = iter(range(2**63))
        server = Server(
            settings,
            endpoints=read_endpoints(settings, default="127.0.0.1:9092"),
            node_count=self._nodes,
            log=make_log(self._log_level, "console"),
            platform=Platform(
                clock=SimulatedClock(loop),
                stopwatch=lambda: next(looks) * _LOOK_S,
                random_source=Random(f"broker {self.seed}"),
            ),
        )
        return ControlledBroker(server)


def _end_tasks(loop: SimulatedLoop) -> None:
    """Cancel what is left, again where that was overheard, and close what they have left open."""
    loop.begin_the_end()
    for _ in range(_CANCELS_MAX):
        if not (tasks := loop.tasks):
            break
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.wait(tasks, timeout=_LINGER_S))
    loop.network.close()
    loop.run_until_complete(asyncio.sleep(_LINGER_S))
    loop.run_until_complete(loop.shutdown_asyncgens())

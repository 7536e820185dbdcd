"""What of the world outside a program in a simulation sees: its time, and its random source.

While a simulation runs, in its thread and in no other, `time.time`, `time.monotonic` and their `_ns` say the simulated
time, `time.sleep` lets it pass, and `os.urandom`, and so `uuid.uuid4`, gives bytes by the seed. The functions of the
module `random` are seeded for all threads, and afterwards as they were before.

The garbage collector waits until the story is told: when it comes, and with it what objects do when they go, is not the
seed's to decide. What no cycle holds goes at once, as ever.

What was imported by name before (`from time import monotonic`), `datetime.now()`, `secrets` and `time.perf_counter` are
real.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from ottla.testing.simulation.clients import dated_records

if TYPE_CHECKING:
    from types import ModuleType

    from ottla.testing.simulation.loop import SimulatedLoop

#: When every simulation begins: 2026-01-01, midnight UTC.
BEGINS_MS: Final = 1_767_225_600_000
_BEGINS_NS: Final = BEGINS_MS * 1_000_000
_NS_PER_S: Final = 1_000_000_000


class SimulatedClock:
    """The broker's clock: the loop's."""

    stands_still = False

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return self._loop.now_ms

    def wall_ms(self) -> int:
        return BEGINS_MS + self._loop.now_ms


@contextmanager
def simulated_world(loop: SimulatedLoop, seed: int) -> Iterator[None]:
    """Within this the thread of the loop has the loop's time."""
    random_source = random.Random(f"world {seed}")
    state = random.getstate()
    with ExitStack() as at_end:
        at_end.callback(random.setstate, state)
        random.seed(f"program {seed}")
        if gc.isenabled():
            at_end.callback(gc.enable)
            gc.disable()
        for module, name, simulated in (
            (time, "time", lambda: (_BEGINS_NS + loop.now_ns) / _NS_PER_S),
            (time, "time_ns", lambda: _BEGINS_NS + loop.now_ns),
            (time, "monotonic", loop.time),
            (time, "monotonic_ns", lambda: loop.now_ns),
            (time, "sleep", loop.pass_time),
            (os, "urandom", random_source.randbytes),
        ):
            at_end.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, _in_this_thread(simulated, module, name))
        clock, own = SimulatedClock(loop), threading.get_ident()
        at_end.enter_context(dated_records(clock.wall_ms, lambda: threading.get_ident() == own))
        yield


def _in_this_thread(simulated: Callable[..., Any], module: ModuleType, name: str) -> Callable[..., Any]:
    """This function in this thread, and what there is in all others."""
    real, own = getattr(module, name), threading.get_ident()

    def choose(*arguments: Any) -> Any:
        return simulated(*arguments) if threading.get_ident() == own else real(*arguments)

    return choose

"""What a client reads of the machine past Python, given to it from the simulation.

aiokafka dates records without a timestamp in C, by the machine's clock: in a simulation, whose date is another, the
broker would refuse them. So within one they are dated in Python, before they get there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

_BATCHES: Final = "aiokafka.producer.message_accumulator"


@contextmanager
def dated_records(date_ms: Callable[[], int], is_simulated: Callable[[], bool]) -> Iterator[None]:
    """Within this aiokafka's producers, where they are simulated, date records by `date_ms`."""
    module = sys.modules.get(_BATCHES)
    if module is None:
        yield
        return
    builder = module.BatchBuilder
    real = builder.append

    def append(self: Any, *, timestamp: int | None, **rest: Any) -> Any:
        if timestamp is None and is_simulated():
            timestamp = date_ms()
        return real(self, timestamp=timestamp, **rest)

    builder.append = append
    try:
        yield
    finally:
        builder.append = real

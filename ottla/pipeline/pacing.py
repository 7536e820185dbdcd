"""Holding back a task's records until they are due.

Time is that of the recording, divided by the speed, from one moment on: the lead, in which a producer finds its broker,
after the first record was there. Nothing adds up: a record that is late doesn't make the next one late. How late the
latest was is kept, for people to judge by.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow

LEAD_SECONDS: Final = 1.0
#: What was late goes in pieces, between which the producer is looked after.
_PIECE_ROWS_MAX: Final = 500


class Pace:
    """When recorded moments are now. `seconds` is a clock, and `sleep` waits by it."""

    def __init__(
        self,
        speed: float,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.late_seconds_max = 0.0
        self._speed = speed
        self._seconds = seconds
        self._sleep = sleep

    def pieces(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The same rows, in pieces, each when its `due_ms` has come. They are in its order."""
        zero_seconds: float | None = None
        for batch in batches:
            due_ms: list[Any] = batch.column("due_ms").to_pylist()
            at = 0
            while at < len(due_ms):
                if zero_seconds is None:
                    zero_seconds = self._seconds() + LEAD_SECONDS - due_ms[0] / 1000 / self._speed
                due_seconds = zero_seconds + due_ms[at] / 1000 / self._speed
                self._wait_until(due_seconds)
                now_ms = (self._seconds() - zero_seconds) * self._speed * 1000
                end = min(max(bisect_right(due_ms, now_ms, at), at + 1), at + _PIECE_ROWS_MAX)
                yield batch.slice(at, end - at)
                self.late_seconds_max = max(self.late_seconds_max, self._seconds() - due_seconds)
                at = end

    def _wait_until(self, due_seconds: float) -> None:
        while (left := due_seconds - self._seconds()) > 0:
            self._sleep(left)

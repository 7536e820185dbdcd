"""Holding back a task's records until they are due.

A record is due when the recording's time up to it, divided by the speed, has passed since the start. The start is
`LEAD_SECONDS` after the first record was read, so that the producer can connect. Lateness does not add up: a late
record does not delay the next one. The largest lateness is kept.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow

LEAD_SECONDS: Final = 1.0
#: Late records go in pieces, so that the producer is polled between them.
_PIECE_ROWS_MAX: Final = 500


class ReplayPace:
    """The pace of a replay. `seconds` is a clock, and `sleep` waits by it."""

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

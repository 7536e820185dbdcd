"""One account for the bytes of all logs, so that producers fill the account and not the machine.

The limit is `ottla.log.bytes.max`. When a batch doesn't fit, retention gets a chance first: `reclaim` is called, by
default nothing. If that made no room, the batch is refused, and `reclaim` is left alone for a second: producers retry
quickly, and nothing that retention goes by has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

BYTES_MAX_SETTING: Final = "ottla.log.bytes.max"
RECLAIM_INTERVAL_MS: Final = 1000


class LogBytes:
    """How many bytes the logs may hold, and how many they hold."""

    __slots__ = ("_refused_ms", "bytes_held", "bytes_max", "reclaim")

    def __init__(self, bytes_max: int, reclaim: Callable[[int], None] | None = None) -> None:
        """`reclaim(wall_ms)` applies retention to the logs."""
        self.bytes_max = bytes_max
        self.bytes_held = 0
        self.reclaim = reclaim
        self._refused_ms: int | None = None

    def take(self, size: int, wall_ms: int) -> bool:
        """Account for `size` more bytes, unless they don't fit."""
        if self.bytes_held + size > self.bytes_max and not self._made_room(size, wall_ms):
            return False
        self.bytes_held += size
        return True

    def give_back(self, size: int) -> None:
        self.bytes_held -= size
        assert self.bytes_held >= 0

    def _made_room(self, size: int, wall_ms: int) -> bool:
        if self.reclaim is None:
            return False
        if self._refused_ms is not None and 0 <= wall_ms - self._refused_ms < RECLAIM_INTERVAL_MS:
            return False
        self.reclaim(wall_ms)
        fits = self.bytes_held + size <= self.bytes_max
        self._refused_ms = None if fits else wall_ms
        return fits

"""The time: of deadlines, and of records.

Two times, both whole milliseconds: `now_ms` only ever grows and counts from an arbitrary moment, so deadlines are
instants of it; `wall_ms` is the date, milliseconds since 1970, and goes into records. Everything asks one `Clock`. The
system clock runs by itself. The virtual one stands still until it is moved, so a test can expire a session of 45 s at
once, and nothing expires by itself.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

_NS_PER_MS = 1_000_000

WALL_MS_MAX: Final = 2**63 - 1
"""The last date a record can have."""


class Clock(Protocol):
    """The only source of time."""

    @property
    def stands_still(self) -> bool:
        """Whether the time changes only when it is moved, so that waiting in real time is useless."""

    def now_ms(self) -> int:
        """Milliseconds on the clock that deadlines are set by. It never goes back."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970, UTC, for the timestamps of records."""


class SystemClock:
    """The machine's clocks."""

    __slots__ = ()

    stands_still = False

    def now_ms(self) -> int:
        return time.monotonic_ns() // _NS_PER_MS  # rounded down: no deadline seems reached before it is

    def wall_ms(self) -> int:
        return time.time_ns() // _NS_PER_MS


class VirtualClock:
    """A clock that stands still until `move_to`. Both times move by the same amount."""

    __slots__ = ("_now_ms", "_wall_offset_ms")

    stands_still = True

    def __init__(self, start_ms: int = 0, wall_ms: int | None = None) -> None:
        """`wall_ms`: the date at the start; None takes the system's."""
        self._now_ms = start_ms
        self._wall_offset_ms = 0
        self.set_date(wall_ms)

    def now_ms(self) -> int:
        return self._now_ms

    def wall_ms(self) -> int:
        return min(self._now_ms + self._wall_offset_ms, WALL_MS_MAX)

    def date_from(self, wall_ms: int) -> None:
        """Move the date to this if it is earlier; the time to each deadline stays."""
        self._wall_offset_ms = max(self._wall_offset_ms, wall_ms - self._now_ms)

    def set_date(self, wall_ms: int | None = None) -> None:
        """Set the date, later or earlier; None: the system's. The time to each deadline stays."""
        self._wall_offset_ms = (time.time_ns() // _NS_PER_MS if wall_ms is None else wall_ms) - self._now_ms

    def move_to(self, now_ms: int) -> None:
        """Set `now_ms`; a past instant changes nothing. `Timer.advance` does this, and fires what is due."""
        self._now_ms = max(self._now_ms, now_ms)

"""Sums of any number of values that take a bounded room."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from typing import Any, Final

#: Of different values that are told apart.
_VALUES_MAX: Final = 10_000
#: Of times that a later one may still overlap.
_SPANS_MAX: Final = 1_000


class Lengths:
    """How many there were, their sum, the longest, and which is in the middle."""

    __slots__ = ("_counts", "_step", "count", "longest_ms", "total_ms")

    def __init__(self) -> None:
        self.count = self.total_ms = 0
        self.longest_ms: int | None = None
        self._counts: Counter[int] = Counter()
        self._step = 1
        """Values are rounded down to a multiple; it grows where there are too many of them."""

    def add(self, length_ms: int) -> None:
        self.count += 1
        self.total_ms += length_ms
        self.longest_ms = length_ms if self.longest_ms is None else max(self.longest_ms, length_ms)
        self._counts[length_ms // self._step * self._step] += 1
        while len(self._counts) > _VALUES_MAX:
            self._step *= 2
            coarser: Counter[int] = Counter()
            for value, count in self._counts.items():
                coarser[value // self._step * self._step] += count
            self._counts = coarser

    def percentile(self, percent: int) -> int | None:
        """The smallest value that this many of a hundred don't exceed; None: there are no values."""
        wanted, seen = -(-self.count * percent // 100), 0
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= wanted:
                return value
        return None


class Union:
    """The time that is in any of some spans. They come in the order of their ends."""

    __slots__ = ("_floor", "_spans", "total_ms")

    def __init__(self) -> None:
        self.total_ms = 0
        self._spans: deque[tuple[int, int]] = deque()
        self._floor: int | None = None

    def add(self, since: int, until: int) -> None:
        if self._floor is not None:
            since = max(since, self._floor)
        if since >= until:
            return
        while self._spans and self._spans[-1][1] >= since:
            earlier, end = self._spans.pop()
            self.total_ms -= end - earlier
            since, until = min(since, earlier), max(until, end)
        self._spans.append((since, until))
        self.total_ms += until - since
        if len(self._spans) > _SPANS_MAX:
            self._floor = self._spans.popleft()[1]


class Longest:
    """The items with the greatest keys, as many as are kept."""

    __slots__ = ("_kept", "_max", "_numbers")

    def __init__(self, kept_max: int) -> None:
        self._max = kept_max
        self._kept: list[tuple[float, int, Any]] = []
        self._numbers = itertools.count(0, -1)  # of equals the first is kept

    def add(self, key: float, item: Any) -> None:
        entry = key, next(self._numbers), item
        if len(self._kept) < self._max:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def items(self) -> list[Any]:
        """In the order in which they came."""
        return [item for _, _, item in sorted(self._kept, key=lambda entry: -entry[1])]

"""Sums of any number of values, in bounded memory."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from typing import Any, Final

#: How many different values are kept apart.
_VALUES_MAX: Final = 10_000
#: How many spans are kept that a later one may overlap.
_SPANS_MAX: Final = 1_000


class Lengths:
    """Count, sum, maximum and percentiles."""

    __slots__ = ("_counts", "_step", "count", "longest_ms", "total_ms")

    def __init__(self) -> None:
        self.count = self.total_ms = 0
        self.longest_ms: int | None = None
        self._counts: Counter[int] = Counter()
        self._step = 1
        """Values are rounded down to multiples of it. It doubles when there are too many different values."""

    def add(self, length_ms: int) -> None:
        self.count += 1
        self.total_ms += length_ms
        self.longest_ms = length_ms if self.longest_ms is None else max(self.longest_ms, length_ms)
        self._counts[length_ms // self._step * self._step] += 1
        if len(self._counts) > _VALUES_MAX:
            self._round(2 * self._step)

    def merge(self, other: Lengths) -> None:
        """Add the other's values. The order in which values are added and merged does not matter."""
        self.count += other.count
        self.total_ms += other.total_ms
        self.longest_ms = max(filter(None, (self.longest_ms, other.longest_ms)), default=self.longest_ms)
        self._counts.update(other._counts)
        self._round(max(self._step, other._step))

    def _round(self, step: int) -> None:
        """Round down to multiples of `step`, or of the first of its doubles that leaves few enough values."""
        self._step = step
        rounded: Counter[int] = Counter()
        for value, count in self._counts.items():
            rounded[value // step * step] += count
        self._counts = rounded
        if len(rounded) > _VALUES_MAX:
            self._round(2 * step)

    def percentile(self, percent: int) -> int | None:
        """The smallest value that so many percent of the values don't exceed. None: there are no values."""
        wanted, seen = -(-self.count * percent // 100), 0
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= wanted:
                return value
        return None


class Union:
    """The length of the union of spans, which are added in the order of their ends."""

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
    """The items with the greatest keys. Of equal keys the first is kept."""

    __slots__ = ("_kept", "_max", "_numbers")

    def __init__(self, kept_max: int) -> None:
        self._max = kept_max
        self._kept: list[tuple[float, int, Any]] = []
        self._numbers = itertools.count(0, -1)

    def add(self, key: float, item: Any) -> None:
        entry = key, next(self._numbers), item
        if len(self._kept) < self._max:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)

    def items(self) -> list[Any]:
        """In the order in which they were added."""
        return [item for _, _, item in sorted(self._kept, key=lambda entry: -entry[1])]

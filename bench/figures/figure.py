"""What a figure is: a few rows of the table, and how one peer is measured for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.broker import Broker

#: Values by the title of their row; rows that are left out show as a dash.
Values: TypeAlias = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table. `goal` says what is to be reached, in words."""

    title: str
    digits: int = 0
    smaller_is_better: bool = False
    goal: str = ""

    def better(self, first: float, second: float) -> float:
        return min(first, second) if self.smaller_is_better else max(first, second)


@dataclass(frozen=True, slots=True)
class Figure:
    """`measure` takes a running broker and the seconds a run should last, and raises `UnableError` where it can't."""

    name: str
    rows: Sequence[Row]
    measure: Callable[[Broker, float], Values]
    #: Measured on a broker started for it alone, which may not listen yet.
    fresh: bool = False

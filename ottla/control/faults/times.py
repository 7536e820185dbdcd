"""How often a fault happens to what it is aimed at.

once           the first request
times, first   the first so many
nth            the n-th and no other
every          every n-th
until_removed  each
probability    each with this probability, by a random source with a seed, so that a run can be repeated
"""

from __future__ import annotations

from random import Random
from typing import Final, Protocol

SEED_MAX: Final = 2**32 - 1


class Times(Protocol):
    """Asked once for each request that is aimed at."""

    @property
    def text(self) -> str:
        """How it is told."""

    @property
    def is_spent(self) -> bool:
        """Whether it will never happen again."""

    def happens(self) -> bool:
        """Another one is here: does it happen?"""


class First:
    """To the first so many; None: to all of them."""

    def __init__(self, count: int | None) -> None:
        self._left = count
        self.text = "until removed" if count is None else "once" if count == 1 else f"{count} times"

    @property
    def is_spent(self) -> bool:
        return self._left == 0

    def happens(self) -> bool:
        if self._left is None:
            return True
        self._left -= 1
        return True


class Nth:
    """To the n-th alone, or to every n-th."""

    def __init__(self, number: int, *, is_repeated: bool) -> None:
        self._number = number
        self._is_repeated = is_repeated
        self._seen = 0
        self.text = f"every {number}." if is_repeated else f"the {number}."

    @property
    def is_spent(self) -> bool:
        return not self._is_repeated and self._seen >= self._number

    def happens(self) -> bool:
        self._seen += 1
        return self._seen % self._number == 0


class WithProbability:
    """To each with a probability from 0 to 1."""

    is_spent = False

    def __init__(self, probability: float, seed: int) -> None:
        self._probability = probability
        self._random_source = Random(seed)
        self.text = f"with probability {probability:g} by seed {seed}"

    def happens(self) -> bool:
        return self._random_source.random() < self._probability

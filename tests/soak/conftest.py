"""The fixture `drill`: how long, and by which seed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random, randrange

import pytest

from tests.support.soak import IS_SOAK, rounds

_SEED_OF_SHORT_FORM = 1


@dataclass(frozen=True)
class Drill:
    """How to go about it. `random` is where every choice comes from."""

    is_long: bool
    seed: int
    random: Random

    def rounds(self, *, short: int, long: int) -> int:
        """How many rounds, and said where a failing test shows it, with the seed."""
        count = rounds(short=short, long=long)
        print(f"again: make soak SEED={self.seed} ROUNDS={count}")
        return count


@pytest.fixture
def drill() -> Drill:
    given = os.environ.get("OTTLA_SEED")
    seed = int(given) if given else randrange(1 << 32) if IS_SOAK else _SEED_OF_SHORT_FORM
    return Drill(IS_SOAK, seed, Random(seed))

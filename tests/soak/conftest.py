"""The fixture `drill`: how long, and by which seed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random, randrange

import pytest

_SEED_OF_SHORT_FORM = 1


@dataclass(frozen=True)
class Drill:
    """How to go about it. `random` is where every choice comes from."""

    is_long: bool
    seed: int
    random: Random

    def rounds(self, *, short: int, long: int) -> int:
        """How many rounds, and said where a failing test shows it, with the seed."""
        rounds = int(os.environ.get("OTTLA_ROUNDS") or (long if self.is_long else short))
        print(f"again: make soak SEED={self.seed} ROUNDS={rounds}")
        return rounds


@pytest.fixture
def drill() -> Drill:
    is_long = bool(os.environ.get("OTTLA_SOAK"))
    given = os.environ.get("OTTLA_SEED")
    seed = int(given) if given else randrange(1 << 32) if is_long else _SEED_OF_SHORT_FORM
    return Drill(is_long, seed, Random(seed))

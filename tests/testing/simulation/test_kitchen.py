"""Real aiokafka consumers in a simulation: the story holds for every seed, and a seed tells it the same every time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.soak import IS_SOAK
from tests.testing.simulation.kitchen import tell

SEEDS = 1_000 if IS_SOAK else 25

_PRINT = "from tests.testing.simulation.kitchen import tell; print(*tell(7), sep='\\n')"


@pytest.mark.soak
def test_the_others_take_over_by_every_seed() -> None:
    """And no two seeds tell it alike."""
    stories = ["\n".join(tell(seed)) for seed in range(SEEDS)]
    assert len(set(stories)) == SEEDS


def test_a_seed_tells_the_same_story_twice() -> None:
    """Byte for byte, with its ids, times and causes."""
    first = tell(7)
    assert tell(7) == first
    assert any('"cause": "session_expired"' in line for line in first)


@pytest.mark.parametrize("hash_seed", ["0", "1", "2"])
def test_another_process_tells_the_same_story(hash_seed: str) -> None:
    """However it orders its sets of strings."""
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PRINT],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == tell(7)

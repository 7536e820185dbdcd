"""What the garbage collector has found to be in use is not looked at again."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any, Final

import pytest

from ottla.broker.upkeep.collector import spare_what_lives

FULL: Final = 2
LOOKED_AT_MAX: Final = 30_000


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before, thresholds = list(gc.callbacks), gc.get_threshold()
    yield
    gc.callbacks[:] = before
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_what_lives_is_set_aside() -> None:
    """Once a full look has found it."""
    spare_what_lives()
    gc.collect()
    gc.collect()
    assert gc.get_freeze_count() > 0
    kept = [[] for _ in range(1_000)]  # type: ignore[var-annotated]
    before = gc.get_freeze_count()
    gc.collect()
    assert gc.get_freeze_count() >= before + len(kept)


def test_a_full_look_is_at_what_came_since_the_last_one() -> None:
    """However much there is besides, and whatever the look before has found."""
    looked_at: list[int] = []

    def count(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == FULL:
            looked_at.append(sum(len(gc.get_objects(generation)) for generation in range(FULL + 1)))

    gc.set_threshold(2_000, 10, 10)  # as Python 3.13 has it
    everything: list[list[object]] = [[] for _ in range(300_000)]
    spare_what_lives()
    gc.callbacks.append(count)
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle
    everything += ([] for _ in range(300_000))
    assert len(looked_at) > 300_000 // LOOKED_AT_MAX
    assert max(looked_at) < LOOKED_AT_MAX


def test_a_cycle_is_still_found() -> None:
    """If nobody has looked at it while it was in use."""

    class Thing:
        pass

    spare_what_lives()
    thing = Thing()
    thing.itself = thing  # type: ignore[attr-defined]
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None

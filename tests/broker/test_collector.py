"""What the garbage collector has found to be in use is not looked at again."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ottla.broker.collector import spare_what_lives


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = list(gc.callbacks)
    yield
    gc.callbacks[:] = before
    gc.unfreeze()


def test_what_lives_is_set_aside() -> None:
    """Once a full look has found no cycles."""
    spare_what_lives()
    gc.collect()
    gc.collect()
    assert gc.get_freeze_count() > 0
    kept = [[] for _ in range(1_000)]  # type: ignore[var-annotated]
    before = gc.get_freeze_count()
    gc.collect()
    assert gc.get_freeze_count() >= before + len(kept)


def test_not_after_a_look_that_found_some() -> None:
    """There may be more to come."""
    gc.collect()
    spare_what_lives()
    before = gc.get_freeze_count()
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert gc.get_freeze_count() == before

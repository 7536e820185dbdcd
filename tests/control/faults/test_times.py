"""How often a fault happens to what it is aimed at."""

from __future__ import annotations

import pytest

from ottla.control.faults.times import First, Nth, Times, WithProbability


def pattern(times: Times, count: int = 7) -> str:
    """Of so many that come: x for each that it happens to. A spent one is not asked."""
    return "".join("x" if not times.is_spent and times.happens() else "." for _ in range(count))


@pytest.mark.parametrize(
    ("times", "happens", "text"),
    [
        (First(1), "x......", "once"),
        (First(3), "xxx....", "3 times"),
        (First(None), "xxxxxxx", "until removed"),
        (Nth(3, is_repeated=False), "..x....", "the 3."),
        (Nth(3, is_repeated=True), "..x..x.", "every 3."),
        (WithProbability(1, seed=1), "xxxxxxx", "with probability 1 by seed 1"),
    ],
)
def test_it_happens_as_often_as_it_says(times: Times, happens: str, text: str) -> None:
    assert times.text == text
    assert pattern(times) == happens


def test_same_seed_has_the_same_dice() -> None:
    again = [pattern(WithProbability(0.3, seed), 1_000) for seed in (7, 7, 8)]
    assert again[0] == again[1] != again[2]
    assert 200 < again[0].count("x") < 400

"""What keeps failing is told once and left alone for longer and longer."""

from __future__ import annotations

from ottla.broker.setbacks import BACKOFF_MS_MAX, BACKOFF_MS_MIN, QUIET_KEYS_MAX, Setbacks
from ottla.purgatory import VirtualClock


def test_it_rests_twice_as_long_after_each_failure_up_to_five_minutes() -> None:
    """A second, two, four …; what fails beside it has a count of its own."""
    clock = VirtualClock()
    setbacks: Setbacks[str] = Setbacks(clock)
    rests = []
    for _ in range(100):
        setbacks.failed("orders", ValueError("no"))
        rests.append(setbacks.backoff_ms("orders"))
        clock.move_to(clock.now_ms() + rests[-1] - 1)
        assert setbacks.is_resting("orders")
        clock.move_to(clock.now_ms() + 1)
        assert not setbacks.is_resting("orders")
    assert rests[:4] == [BACKOFF_MS_MIN, 2_000, 4_000, 8_000]
    assert (max(rests), rests[-1]) == (BACKOFF_MS_MAX, BACKOFF_MS_MAX)
    assert (setbacks.backoff_ms("payments"), setbacks.is_resting("payments")) == (0, False)
    assert (setbacks.failures("orders"), setbacks.failures("payments")) == (100, 0)


def test_what_is_news() -> None:
    """The first failure, one for another reason or of another kind, and that it went well."""
    setbacks: Setbacks[str] = Setbacks(VirtualClock())
    said = ["a", "a", "b", "b"]
    assert [setbacks.failed("orders", ValueError(text)) for text in said] == [True, False, True, False]
    assert setbacks.failed("orders", KeyError("b"))
    assert [setbacks.went_well("orders"), setbacks.went_well("orders")] == [True, False]
    assert (setbacks.backoff_ms("orders"), setbacks.failures("orders")) == (0, 0)
    assert setbacks.failed("orders", KeyError("b"))


def test_what_was_quiet_is_forgotten() -> None:
    """For what nobody says of that it went well."""
    clock = VirtualClock()
    setbacks: Setbacks[str] = Setbacks(clock, quiet_ms=60_000)
    assert setbacks.failed("orders", ValueError())
    clock.move_to(60_000)
    assert not setbacks.failed("orders", ValueError())
    clock.move_to(120_001)
    assert setbacks.failed("orders", ValueError())
    assert setbacks.failures("orders") == 1


def test_no_more_than_so_many_quiet_ones_are_remembered() -> None:
    """Whoever failed last is, and those that have not failed for longest are forgotten first."""
    setbacks: Setbacks[int] = Setbacks(VirtualClock(), quiet_ms=60_000)
    assert all(setbacks.failed(key, "no") for key in range(QUIET_KEYS_MAX))
    assert not setbacks.failed(QUIET_KEYS_MAX - 1, "no")
    assert setbacks.failed(QUIET_KEYS_MAX, "no")
    assert setbacks.failed(0, "no")
    assert not setbacks.failed(QUIET_KEYS_MAX, "no")

"""The clocks: the machine's, and the one that stands still."""

from __future__ import annotations

import time

import pytest

from ottla.purgatory import Clock, SystemClock, VirtualClock


def test_the_system_clock_tells_the_machines_time_in_whole_milliseconds() -> None:
    """Rounded down, so that no deadline seems reached before it is; the monotonic and the date are both that."""
    clock: Clock = SystemClock()
    before_ms, before_date_ms = time.monotonic_ns() / 1e6, time.time_ns() / 1e6
    now_ms, wall_ms = clock.now_ms(), clock.wall_ms()
    assert before_ms - 1 < now_ms <= time.monotonic_ns() / 1e6
    assert before_date_ms - 1 < wall_ms <= time.time_ns() / 1e6
    assert (type(now_ms), type(wall_ms)) == (int, int)
    assert not clock.stands_still


def test_the_virtual_clock_stands_still_until_it_is_moved() -> None:
    """And then the date moves by as much as the time."""
    clock = VirtualClock(start_ms=500, wall_ms=1_700_000_000_000)
    assert clock.stands_still
    assert [clock.now_ms() for _ in range(3)] == [500] * 3
    clock.move_to(45_500)
    assert (clock.now_ms(), clock.wall_ms()) == (45_500, 1_700_000_045_000)


def test_the_virtual_clock_never_goes_back() -> None:
    """To be moved to the past leaves it where it is."""
    clock = VirtualClock(start_ms=500)
    clock.move_to(499)
    assert clock.now_ms() == 500


def test_the_virtual_clock_stops_at_the_last_date_a_record_can_have() -> None:
    """Deadlines go on; no record could be written after it."""
    clock = VirtualClock(wall_ms=1_700_000_000_000)
    clock.move_to(2**63)
    assert (clock.now_ms(), clock.wall_ms()) == (2**63, 2**63 - 1)


@pytest.mark.parametrize("start_ms", [0, 12_345])
def test_the_virtual_clock_starts_today_unless_told_a_date(start_ms: int) -> None:
    """Records written under it get dates that clients find plausible."""
    before_ms = time.time_ns() // 1_000_000
    clock = VirtualClock(start_ms)
    assert before_ms <= clock.wall_ms() <= time.time_ns() // 1_000_000
    assert clock.now_ms() == start_ms

"""How a frame that comes in pieces is received."""

from __future__ import annotations

import pytest

from ottla.broker.network.limits import FRAME_BUFFER_GROWTH, MIB
from ottla.broker.network.partial_frames import LargeFrame, begin_frame

SIZE = 10 * MIB


@pytest.mark.parametrize("first", [5, 4_096, 90_000, 200_000, 262_144])
def test_no_more_than_a_part_of_a_large_frame_is_copied_at_once(first: int) -> None:
    """However much of it came first; a copy of 64 MB holds everybody up for 50 ms."""
    filled = first
    while not isinstance(begun := begin_frame(memoryview(bytes(filled)), SIZE), LargeFrame):
        assert filled < len(begun.data) <= FRAME_BUFFER_GROWTH * max(filled, 1_024)
        filled = len(begun.data)
    assert filled <= SIZE / FRAME_BUFFER_GROWTH + 1

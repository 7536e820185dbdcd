"""Waiting for what the broker tells, without asking again and again."""

from __future__ import annotations

import asyncio

import pytest

from ottla.events.kind import Kind
from ottla.events.stream import Stream
from ottla.events.waiting import until


def stream() -> Stream:
    return Stream(lambda: 0, lambda: 0)


async def test_what_holds_already_is_not_waited_for() -> None:
    """Nothing is read for it."""
    events = stream()
    await until(events, lambda: not events.is_read(Kind.NODE_DIED))


async def test_it_is_looked_at_after_each_event_and_not_between() -> None:
    """In the turn after it, when whoever told it is done; other kinds wake nobody."""
    events, looks, is_up = stream(), list[int](), False

    def holds() -> bool:
        looks.append(1)
        return is_up

    waiting = asyncio.create_task(until(events, holds, [Kind.NODE_STARTED]))
    await asyncio.sleep(0)
    events.tell(Kind.NODE_DIED, node_id=1)
    await asyncio.sleep(0)
    begun = len(looks)
    events.tell(Kind.NODE_STARTED, node_id=1)
    is_up = True
    await waiting
    assert len(looks) == begun + 1
    assert not events.is_read(Kind.NODE_STARTED)


async def test_who_gives_up_waiting_reads_no_longer() -> None:
    events = stream()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await until(events, lambda: False)
    assert not any(map(events.is_read, Kind))

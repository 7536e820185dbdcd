"""Waiting in the event loop until something is so: looked at now, and after each event that may have made it so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from ottla.events.kind import USUAL_KINDS, Kind
from ottla.events.stream import Stream


async def until(stream: Stream, holds: Callable[[], bool], kinds: Iterable[Kind] = USUAL_KINDS) -> None:
    """Return when `holds()` is true. It is asked again in the turn of the loop after an event of these kinds.

    There is no timeout: `asyncio.timeout` has one.
    """
    if holds():
        return
    news = asyncio.Event()
    stop = stream.read(lambda _event: news.set(), kinds)
    try:
        while not holds():
            await news.wait()
            news.clear()
    finally:
        stop()

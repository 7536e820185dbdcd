"""The event loop that a broker runs on: uvloop's, which is twice as fast, or asyncio's own where there is no uvloop.

uvloop is made for Linux and macOS. Everything else here goes by asyncio's interfaces alone.
"""

from __future__ import annotations

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop of the better kind there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()

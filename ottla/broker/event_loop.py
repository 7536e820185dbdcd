"""The event loop that a broker runs on: uvloop's, which is twice as fast, or asyncio's own where there is no uvloop.

uvloop is made for Linux and macOS. Everything else here goes by asyncio's interfaces alone.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop of the better kind there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def on_signals(
    loop: asyncio.AbstractEventLoop, numbers: Iterable[signal.Signals], tell: Callable[[signal.Signals], None]
) -> None:
    """Call `tell` in the loop for each of these signals. For the main thread; Windows' loops know no signals."""
    for number in numbers:
        try:
            loop.add_signal_handler(number, tell, number)
        except NotImplementedError:
            signal.signal(number, lambda caught, _frame: _tell_in_loop(loop, tell, caught))


def _tell_in_loop(loop: asyncio.AbstractEventLoop, tell: Callable[[signal.Signals], None], number: int) -> None:
    loop.call_soon_threadsafe(tell, signal.Signals(number))

"""Python's garbage collector, kept from looking at everything there is again and again.

It looks for objects that only hold each other. A full look takes some 100 ns for each object there is: a broker with a
million of them would hold its clients up for as long whenever a large request makes it look. But the broker makes next
to no such cycles; what is not needed goes when the last reference does. So each full look is at what came since the
last one, and what it leaves is set aside for good. And it is made soon, while that is little:

    700 new objects      the youngest are looked at
    11 times that        and the objects that were left then
    3 times that         a full look, at some 20,000 objects; without this it were ten times as many, or more

What is set aside still goes with its last reference. Only a cycle that was set aside while it was in use would stay.

For the process of a broker alone: in a user's own process the collector is the user's.
"""

from __future__ import annotations

import gc
from typing import Any, Final

_FULL: Final = 2
#: How many new objects there are before the youngest are looked at, and how often before those left then. Said
#: here, for Python's own number has grown to 2,000 in 3.13, and a full look with it.
_YOUNGEST: Final = 700
_LOOKS_BEFORE_YOUNGER: Final = 10
#: A full look comes when the one before it, of those less old, has been made more often than this.
_LOOKS_BEFORE_FULL: Final = 2


def spare_what_lives() -> None:
    """From now on, until the process ends."""
    gc.set_threshold(_YOUNGEST, _LOOKS_BEFORE_YOUNGER, _LOOKS_BEFORE_FULL)
    gc.callbacks.append(_after)
    set_aside()


def set_aside() -> None:
    """What there is now is in use, and need not be looked at."""
    gc.freeze()
    gc.collect()  # of nothing; Python waits with the next for a quarter of what there was at the last


def _after(phase: str, info: dict[str, Any]) -> None:
    if phase == "stop" and info["generation"] == _FULL:
        gc.freeze()

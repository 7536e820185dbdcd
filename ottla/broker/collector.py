"""Python's garbage collector, kept from looking at everything there is again and again.

It looks for objects that only hold each other. A full look takes some 50 ns for each object there is: a broker with a
million of them would hold its clients up for as long whenever a large request makes it look. But the broker makes next
to no such cycles; what is not needed goes when the last reference does. So what a full look found to be in use, if it
found nothing else, is set aside for good, and the next one is for what came since.

For the process of a broker alone: in a user's own process the collector is the user's.
"""

from __future__ import annotations

import gc
from typing import Any

_FULL = 2


def spare_what_lives() -> None:
    """From now on, until the process ends."""
    gc.callbacks.append(_after)


def _after(phase: str, info: dict[str, Any]) -> None:
    if phase == "stop" and info["generation"] == _FULL and not info["collected"]:
        gc.freeze()

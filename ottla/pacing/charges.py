"""What the request that is being worked off is charged with. Who calls this outside of a worker is charged nothing."""

from __future__ import annotations

import sys

from greenlet import getcurrent

from ottla.pacing.bounds import TEXT_BYTES_MAX, Costs, TooCostly
from ottla.pacing.pace import Worker


def costs() -> Costs | None:
    """What the request that is being worked off may still cost; None: this is none."""
    worker = getcurrent()
    return worker.costs if type(worker) is Worker else None


def lift_bounds() -> None:
    """What comes now is part of no request: it costs what it does."""
    worker = getcurrent()
    if type(worker) is Worker:
        spent = worker.costs
        spent.elements = spent.elements_max = spent.text_bytes = sys.maxsize


def charge_unpacked(size: int) -> bool:
    """So many bytes were unpacked; returns whether that was within what the request may have."""
    worker = getcurrent()
    if type(worker) is not Worker:
        return True
    worker.costs.unpacked_bytes -= size
    worker.pace.breathe(worker)
    return worker.costs.unpacked_bytes >= 0


def charge_records(count: int) -> bool:
    """So many records that were unpacked are about to be looked at; returns whether the request may have them."""
    worker = getcurrent()
    if type(worker) is not Worker:
        return True
    worker.costs.unpacked_records -= count
    return worker.costs.unpacked_records >= 0


def charge_fault() -> bool:
    """Another record is refused; returns whether it is to be named."""
    worker = getcurrent()
    if type(worker) is not Worker:
        return True
    worker.costs.faults -= 1
    return worker.costs.faults >= 0


def charge_elements(count: int, text_bytes: int = 0) -> None:
    """So many elements are about to be read or written, or were read, with texts that take so much memory.

    Raises `TooCostly`.
    """
    worker = getcurrent()
    if type(worker) is Worker:
        spent = worker.costs
        spent.elements -= count
        if spent.elements < 0:
            raise TooCostly(f"it has more than {spent.elements_max} elements")
        spent.text_bytes -= text_bytes
        if spent.text_bytes < 0:
            raise TooCostly(f"its texts take more than {TEXT_BYTES_MAX} bytes")

"""What the request that runs is charged with. Outside of a fiber nothing is charged."""

from __future__ import annotations

import sys

from greenlet import getcurrent

from ottla.pacing.bounds import TEXT_BYTES_MAX, Costs, TooCostly
from ottla.pacing.pace import Fiber


def costs() -> Costs | None:
    """What the running request may still cost; None: no fiber is running."""
    fiber = getcurrent()
    return fiber.costs if type(fiber) is Fiber else None


def lift_bounds() -> None:
    """What follows is part of no request: it has no bounds."""
    spent = costs()
    if spent is not None:
        spent.elements = spent.elements_max = spent.text_bytes = sys.maxsize


def charge_unpacked(size: int) -> bool:
    """So many bytes were unpacked; returns whether the request may have them. The task may be suspended here."""
    fiber = getcurrent()
    if type(fiber) is not Fiber:
        return True
    fiber.costs.unpacked_bytes -= size
    fiber.pace.yield_turn(fiber)
    return fiber.costs.unpacked_bytes >= 0


def charge_records(count: int) -> bool:
    """So many records that were unpacked are about to be looked at; returns whether the request may have them."""
    spent = costs()
    if spent is None:
        return True
    spent.unpacked_records -= count
    return spent.unpacked_records >= 0


def charge_fault() -> bool:
    """Another record is refused; returns whether it is to be named."""
    spent = costs()
    if spent is None:
        return True
    spent.faults -= 1
    return spent.faults >= 0


def charge_elements(count: int, text_bytes: int = 0) -> None:
    """So many elements are about to be read or written, or were read, with texts that take so much memory.

    Raises `TooCostly`.
    """
    spent = costs()
    if spent is not None:
        spent.elements -= count
        if spent.elements < 0:
            raise TooCostly(f"it has more than {spent.elements_max} elements")
        spent.text_bytes -= text_bytes
        if spent.text_bytes < 0:
            raise TooCostly(f"its texts take more than {TEXT_BYTES_MAX} bytes")

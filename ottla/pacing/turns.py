"""Where long work may be suspended, to be resumed in a later turn of the loop; and where it may not.

    for topic in paced(request.topics):         # between every 8 topics; up to 16 are done in one go
    for batch in paced_each(batches):           # between any two batches
    yield_turn()                                # here

Between two such places nothing else runs. Across them anything may have changed: what was read before has to be read
again. So what must hold together is done without one in between: the checks of a log and its append, for example.
Outside of a fiber (a small request, a timer, a test, a tool) nothing is suspended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeVar

from greenlet import getcurrent

from ottla.pacing.bounds import Parts
from ottla.pacing.pace import Fiber, Task

T = TypeVar("T")

#: After so many elements `paced` looks at the clock.
ELEMENTS_PER_LOOK: Final = 8
#: Up to so many elements are done in one go.
FEW_ELEMENTS: Final = 16


def yield_turn() -> None:
    """The running task may be suspended here."""
    fiber = getcurrent()
    if type(fiber) is Fiber:
        fiber.pace.yield_turn(fiber)


def without_suspension(task: Task) -> None:
    """Do the task in one go, whatever in it could be suspended."""
    fiber = getcurrent()
    if type(fiber) is not Fiber or fiber.is_unsuspendable:
        task()
        return
    fiber.is_unsuspendable = True
    try:
        task()
    finally:
        fiber.is_unsuspendable = False


def paced(items: Collection[T]) -> Iterable[T]:
    """The same items; if they are many the task may be suspended between them."""
    return items if len(items) <= FEW_ELEMENTS else paced_each(items, ELEMENTS_PER_LOOK)


def paced_each(items: Iterable[T], elements: int = 1) -> Iterable[T]:
    """The same items; between any two, or after so many, the task may be suspended."""
    fiber = getcurrent()
    return _paced(items, fiber, elements) if type(fiber) is Fiber else items


def _paced(items: Iterable[T], fiber: Fiber, elements: int) -> Iterator[T]:
    left = elements
    for item in items:
        if not left:
            left = elements
            fiber.pace.yield_turn(fiber)
        left -= 1
        yield item


def paced_parts(items: Iterable[T], parts: Parts) -> Iterable[T]:
    """The same items, which are written to these parts of an answer: the parts are counted. Raises `TooCostly`.

    The task may be suspended between them.
    """
    fiber = getcurrent()
    return _paced_parts(items, parts, fiber) if type(fiber) is Fiber else items


def _paced_parts(items: Iterable[T], parts: Parts, fiber: Fiber) -> Iterator[T]:
    for place, item in enumerate(_paced(items, fiber, ELEMENTS_PER_LOOK), 1):
        yield item
        if place % ELEMENTS_PER_LOOK == 0:
            fiber.costs.count(parts)

"""Where long work may be left, and gone back to in a later turn; and where it may not.

    for topic in paced(request.topics):     breathe()

Within a slice nothing else runs, so between two such places code is as safe as it ever was. Who calls them outside of a
worker (a test, a tool, a timer) just goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from greenlet import getcurrent

from ottla.pacing.bounds import Parts
from ottla.pacing.pace import Task, Worker

T = TypeVar("T")

#: After so many elements a look at the clock.
BREATH_ELEMENTS: Final = 8
#: With no more elements than these nobody asks whether somebody else is to have a turn.
FEW_ELEMENTS: Final = 16


def breathe() -> None:
    """Others may have their turn here."""
    worker = getcurrent()
    if type(worker) is Worker:
        worker.pace.breathe(worker)


def in_one_go(task: Task) -> None:
    """Do it without taking breath: nobody may come in between."""
    worker = getcurrent()
    if type(worker) is not Worker or worker.is_hurried:
        task()
        return
    worker.is_hurried = True
    try:
        task()
    finally:
        worker.is_hurried = False


def paced(items: Iterable[T], elements: int = BREATH_ELEMENTS) -> Iterable[T]:
    """The same items, with breath in between: after each if they are large, else after some `elements`."""
    worker = getcurrent()
    return _paced(items, worker, elements) if type(worker) is Worker else items


def _paced(items: Iterable[T], worker: Worker, elements: int = BREATH_ELEMENTS) -> Iterator[T]:
    left = elements
    for item in items:
        yield item
        left -= 1
        if not left:
            left = elements
            worker.pace.breathe(worker)


def paced_parts(items: Iterable[T], parts: Parts) -> Iterable[T]:
    """As `paced`, for what is written to these parts of an answer: they are counted. Raises `TooCostly`."""
    worker = getcurrent()
    return _paced_parts(items, parts, worker) if type(worker) is Worker else items


def _paced_parts(items: Iterable[T], parts: Parts, worker: Worker) -> Iterator[T]:
    for place, item in enumerate(_paced(items, worker), 1):
        yield item
        if place % BREATH_ELEMENTS == 0:
            worker.costs.count(parts)

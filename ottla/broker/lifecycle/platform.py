"""What a broker takes from the machine that it runs on: time, a random source, files.

Everything else in a broker follows from settings and requests. So a simulation, or a test of crashes, replaces these
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from ottla.purgatory import Clock, SystemClock

if TYPE_CHECKING:
    from random import Random

    from ottla.log.storage.file_operations import FileOperations


@dataclass(frozen=True, slots=True)
class Platform:
    """The machine, unless a part is replaced."""

    clock: Clock = field(default_factory=SystemClock)
    """The broker's time. A `VirtualClock` stands still until it is moved."""
    stopwatch: Callable[[], float] = perf_counter
    """Measures the slices of long work, in seconds of the machine, whatever clock the broker has."""
    random_source: Random | None = None
    """Gives ids. None: the system's."""
    file_operations: FileOperations | None = None
    """Changes the data directory. None: the system's calls."""

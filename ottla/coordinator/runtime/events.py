"""What every machine is told: its timers, its appends, and that it comes and goes. Requests are each kind's own."""

from __future__ import annotations

from typing import TypeAlias

from ottla.coordinator.runtime.effects import Completion
from ottla.coordinator.runtime.frozen import frozen
from ottla.protocol.errors import ErrorCode


@frozen
class TimerExpired:
    """A timer armed under this key ran out and was neither moved nor stopped since."""

    timer_key: str


@frozen
class AppendCompleted:
    """The records of an `Append` are in the log, or `error` says why not."""

    completion: Completion
    error: ErrorCode


@frozen
class Loaded:
    """The machine has come back from the log and is coordinated here from now on."""


@frozen
class Unloaded:
    """Another node coordinates the machine from now on, or none."""


RuntimeEvent: TypeAlias = TimerExpired | AppendCompleted | Loaded | Unloaded

"""What every machine is told: its timers, its appends, and that it comes and goes. Requests are each kind's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ottla.coordinator.runtime.effects import Completion
from ottla.protocol.errors import ErrorCode


class TimerExpired(NamedTuple):
    """A timer armed under this key ran out and was neither moved nor stopped since."""

    timer_key: str


class AppendCompleted(NamedTuple):
    """The records of an `Append` are in the log, or `error` says why not."""

    completion: Completion
    error: ErrorCode


@dataclass(slots=True, frozen=True)
class Loaded:
    """The machine has come back from the log and is coordinated here from now on."""


@dataclass(slots=True, frozen=True)
class Unloaded:
    """Another node coordinates the machine from now on, or none."""


RuntimeEvent: TypeAlias = TimerExpired | AppendCompleted | Loaded | Unloaded

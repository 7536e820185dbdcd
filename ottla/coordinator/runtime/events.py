"""What machines are told: their timers, their appends, that they come and go, what happens to topics.

Requests are each kind's own.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
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


class TopicChange(Enum):
    """What happens to a topic."""

    CREATED = "created"
    GROWN = "grown"
    """It has more partitions."""
    DELETED = "deleted"

    __hash__ = object.__hash__


@frozen
class TopicsChanged:
    """This happened to topics: for each change their ids by name.

    A topic that changed twice is in it twice: what it is now, the machine has to look up. Sent to machines of kinds
    that name one of the changes.
    """

    created: dict[str, bytes] = field(default_factory=dict)
    grown: dict[str, bytes] = field(default_factory=dict)
    deleted: dict[str, bytes] = field(default_factory=dict)

    def __getitem__(self, change: TopicChange) -> dict[str, bytes]:
        """Those to which this happened."""
        topics: dict[str, bytes] = getattr(self, change.value)
        return topics

    def __bool__(self) -> bool:
        return bool(self.created or self.grown or self.deleted)


RuntimeEvent: TypeAlias = TimerExpired | AppendCompleted | Loaded | Unloaded | TopicsChanged

"""Periodic work on logs, one after the other; a failure at one log does not stop it.

After a failure a log is skipped for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of

if TYPE_CHECKING:
    from ottla.events.stream import Stream
    from ottla.log.partition import Partition

#: Does some work on a log as it is at this date.
LogWork: TypeAlias = Callable[[int], object]


class LogCare:
    """One kind of work, log by log."""

    def __init__(self, name: str, events: Stream) -> None:
        self._events = events
        self._name = name
        self._setbacks: Setbacks[tuple[bytes, int]] = Setbacks(events.now_ms)

    def __call__(self, partition: Partition, work: LogWork, wall_ms: int) -> None:
        """Do the work, unless it failed at this log a short while ago."""
        key = partition.topic_id, partition.index
        if self._setbacks.is_resting(key):
            return
        topic, index = partition.topic, partition.index
        try:
            work(wall_ms)
        except Exception as error:
            if self._setbacks.failed(key, error):
                self._events.tell(
                    Kind.LOG_CARE_FAILED,
                    raised=error,
                    topic=topic,
                    partition=index,
                    work=self._name,
                    reason=reason_of(error),
                )
        else:
            if self._setbacks.went_well(key):
                self._events.tell(Kind.LOG_CARE_RECOVERED, topic=topic, partition=index, work=self._name)

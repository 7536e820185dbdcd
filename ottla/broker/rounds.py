"""What is done again and again: a round of work, a pause, the next round.

A round is a job in the background, or done at once, and never begins before the one before it is over. One that fails
is told, once, and comes again after a longer and longer pause. Within a round `LogCare` sees to it that a log at which
the work fails is left alone for a while, and the others are not.

However short the pause is set, there is one: rounds that follow one another would leave nobody else a turn, and with
the virtual clock an hour of them has to come to an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.events.setbacks import Setbacks, reason_of
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.background import Job
    from ottla.cluster.cluster import Cluster
    from ottla.log.partition import Partition

#: The shortest pause, be a setting shorter.
PAUSE_MS_MIN: Final = 100

#: Does some work on a log as it is at this date.
LogWork: TypeAlias = Callable[[int], object]


class Round:
    """One kind of rounds."""

    def __init__(
        self, cluster: Cluster, name: str, work: Callable[[], Job | None], interval_ms: Callable[[], int]
    ) -> None:
        """`work`: begins a round; its result is what is left to do in the background, if anything is."""
        self._cluster = cluster
        self._name = name
        self._work = work
        self._interval_ms = interval_ms
        self._alarm = Alarm(self._begin)
        self._setbacks: Setbacks[str] = Setbacks(cluster.clock)

    def start(self, first_ms: int | None = None) -> None:
        """Begin the first round in `first_ms`; None: after the usual pause."""
        self._pause(self._interval_ms() if first_ms is None else first_ms)

    def _begin(self) -> None:
        try:
            job = self._work()
        except Exception as error:
            self._ended(error)
        else:
            if job is None:
                self._ended(None)
            else:
                self._cluster.background.start(job, self._name, self._ended)

    def _ended(self, error: Exception | None) -> None:
        name, log = self._name, self._cluster.log
        if error is None:
            if self._setbacks.went_well(name):
                log.info("round.recovered", work=name)
        elif self._setbacks.failed(name, error):
            log.exception("round.failed", work=name, reason=reason_of(error))
        self._pause(max(PAUSE_MS_MIN, self._interval_ms(), self._setbacks.backoff_ms(name)))

    def _pause(self, pause_ms: int) -> None:
        self._cluster.timer.add_in(self._alarm, pause_ms)


class LogCare:
    """One kind of work, log by log."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._log = cluster.log
        self._name = name
        self._setbacks: Setbacks[tuple[bytes, int]] = Setbacks(cluster.clock)

    def __call__(self, partition: Partition, work: LogWork, wall_ms: int) -> None:
        """Do it, unless it has failed a short while ago."""
        key = partition.topic_id, partition.index
        if self._setbacks.is_resting(key):
            return
        topic, index = partition.topic, partition.index
        try:
            work(wall_ms)
        except Exception as error:
            if self._setbacks.failed(key, error):
                self._log.exception(
                    "log.care.failed", topic=topic, partition=index, work=self._name, reason=reason_of(error)
                )
        else:
            if self._setbacks.went_well(key):
                self._log.info("log.care.recovered", topic=topic, partition=index, work=self._name)

"""What is due from time to time: old segments removed, idle producers forgotten, logs cleaned, flushed and their state
noted.

Each is a `PeriodicTask`, on the broker's timer, so the virtual clock drives it like everything else. Nothing is armed
before there is a topic, and between two runs nothing wakes up.

Kafka: LogManager.startup (kafka-log-retention), UnifiedLog (PeriodicProducerExpirationCheck).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ottla.broker.upkeep.periodic_task import PeriodicTask
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.store import ClusterStore
    from ottla.events.stream import Event
    from ottla.log.care import LogCare
    from ottla.log.compaction.log_cleaner import LogCleaner
    from ottla.log.job import Job
    from ottla.purgatory import Timer


class Housekeeping:
    """Looks after all logs of a cluster, from its first topic on.

    Made when the broker serves: a recovery may take longer than the first interval, and then there would be no tasks.
    """

    def __init__(self, cluster: Cluster, timer: Timer, background: Background) -> None:
        self._cluster = cluster
        self._timer = timer
        self._background = background
        if cluster.topics:
            self._start()
        else:
            self._stop_reading = cluster.events.read(self._topic_created, [Kind.TOPIC_CREATED])

    def _topic_created(self, _event: Event) -> None:
        self._stop_reading()
        self._start()

    def _start(self) -> None:
        logs, settings = self._cluster.logs, self._cluster.settings
        retention, producers = self._care("retention"), self._care("expired producers")
        self._repeat(
            "retention",
            lambda wall_ms: logs.apply_retention(wall_ms, retention),
            logs.is_retention_due,
            first="log.initial.task.delay.ms",
            interval="log.retention.check.interval.ms",
        )
        self._repeat(
            "expired producers",
            lambda wall_ms: logs.remove_expired_producers(wall_ms, producers),
            logs.has_expired_producers,
            interval="producer.id.expiration.check.interval.ms",
        )
        if self._cluster.store is not None:
            self._look_after_disk(self._cluster.store)
        if settings["log.cleaner.enable"]:
            self._repeat(
                "cleaning",
                lambda _wall_ms: self._cleaner.round(),
                self._is_cleaning_due,
                interval="log.cleaner.backoff.ms",
            )

    @cached_property
    def _cleaner(self) -> LogCleaner:
        """Made, and loaded, with its first run: no client waits then, as one would if the first topic made it."""
        from ottla.log.compaction.log_cleaner import LogCleaner

        cluster = self._cluster
        return LogCleaner(cluster.logs, cluster.settings, cluster.wall_ms, cluster.events)

    def _is_cleaning_due(self, wall_ms: int) -> bool:
        return self._cleaner.has_work(wall_ms)

    def _look_after_disk(self, store: ClusterStore) -> None:
        logs, flush = self._cluster.logs, self._care("flush")
        self._repeat(
            "flush",
            lambda wall_ms: logs.flush_due(wall_ms, flush),
            logs.is_flush_due,
            interval="log.flush.scheduler.interval.ms",
        )
        self._repeat(
            "recovery points",
            lambda _wall_ms: store.data_dir.save_recovery_points_soon(),
            lambda _wall_ms: store.data_dir.has_new_recovery_points,
            interval="log.flush.offset.checkpoint.interval.ms",
        )

    def _care(self, name: str) -> LogCare:
        from ottla.log.care import LogCare

        return LogCare(name, self._cluster.events)

    def _repeat(
        self,
        name: str,
        work: Callable[[int], Job | None],
        has_work: Callable[[int], bool],
        *,
        interval: str,
        first: str | None = None,
    ) -> None:
        """`has_work`: whether a run at this date would find any. `interval` and `first` are settings; without `first`
        the first run comes after an interval too.
        """
        wall_ms, settings = self._cluster.wall_ms, self._cluster.settings
        interval_ms: int = settings[interval]
        repeated = PeriodicTask(
            self._timer,
            self._background,
            self._cluster.events,
            name,
            lambda: work(wall_ms()),
            lambda: interval_ms,
            lambda in_ms: has_work(wall_ms() + in_ms),
        )
        repeated.start(None if first is None else settings[first])

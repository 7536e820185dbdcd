"""What logs need from time to time: old segments removed, idle producers forgotten, compacted logs cleaned, and on disk
flushing and a note of how far that has got.

Each is an alarm on the broker's timer, so the virtual clock drives it like everything else. Nothing is armed
before there is a topic, and between two rounds nothing wakes up.

Kafka: LogManager.startup (kafka-log-retention), UnifiedLog (PeriodicProducerExpirationCheck).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.cluster.cluster import Cluster
    from ottla.broker.cluster.store import ClusterStore
    from ottla.broker.cluster.topic import Topic


#: An interval as long as this is none.
INTERVAL_MS_MAX: Final = 2**63 - 1


class Housekeeping:
    """Looks after all logs of a cluster, from its first topic on.

    Made when the broker serves: a recovery may take longer than the first interval, and then there would be no tasks.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._is_started = False
        cluster.on_topic_created.append(self._topic_created)
        if cluster.topics:
            self._start()

    def _topic_created(self, _topic: Topic) -> None:
        if not self._is_started:
            self._start()

    def _start(self) -> None:
        self._is_started = True
        cluster, settings = self._cluster, self._cluster.settings
        self._repeat(
            lambda: cluster.background.start(cluster.logs.apply_retention(cluster.clock.wall_ms())),
            first_ms=settings["log.initial.task.delay.ms"],
            interval_ms=settings["log.retention.check.interval.ms"],
        )
        self._repeat(
            lambda: cluster.background.start(cluster.logs.remove_expired_producers(cluster.clock.wall_ms())),
            first_ms=settings["producer.id.expiration.check.interval.ms"],
            interval_ms=settings["producer.id.expiration.check.interval.ms"],
        )
        if cluster.store is not None:
            self._look_after_disk(cluster.store)
        if settings["log.cleaner.enable"]:
            from ottla.broker.compaction.log_cleaner import LogCleaner

            LogCleaner(cluster).start()

    def _look_after_disk(self, store: ClusterStore) -> None:
        cluster, settings = self._cluster, self._cluster.settings
        interval_ms = settings["log.flush.scheduler.interval.ms"]
        if interval_ms < INTERVAL_MS_MAX:
            self._repeat(
                lambda: cluster.background.start(cluster.logs.flush_due(cluster.clock.wall_ms())),
                first_ms=interval_ms,
                interval_ms=interval_ms,
            )
        interval_ms = max(1, settings["log.flush.offset.checkpoint.interval.ms"])
        self._repeat(store.data_dir.save_recovery_points_soon, first_ms=interval_ms, interval_ms=interval_ms)

    def _repeat(self, work: Callable[[], None], *, first_ms: int, interval_ms: int) -> None:
        timer = self._cluster.timer

        def run() -> None:
            timer.add(alarm, timer.now_ms() + interval_ms)
            work()

        alarm = Alarm(run)
        timer.add(alarm, timer.now_ms() + first_ms)

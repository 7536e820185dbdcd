"""What logs need from time to time: old segments removed, idle producers forgotten, compacted logs cleaned.

Each is an alarm on the broker's timer, so the virtual clock drives it like everything else. Nothing is armed
before there is a topic, and between two rounds nothing wakes up.

Kafka: LogManager.startup (kafka-log-retention), UnifiedLog (PeriodicProducerExpirationCheck).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.broker.log_cleaner import LogCleaner
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.cluster import Cluster
    from ottla.broker.topic import Topic


class Housekeeping:
    """Looks after all logs of a cluster, from its first topic on."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._is_started = False
        cluster.on_topic_created.append(self._start)

    def _start(self, _topic: Topic) -> None:
        if self._is_started:
            return
        self._is_started = True
        cluster, settings = self._cluster, self._cluster.settings
        self._repeat(
            lambda: cluster.logs.apply_retention(cluster.clock.wall_ms()),
            first_ms=settings["log.initial.task.delay.ms"],
            interval_ms=settings["log.retention.check.interval.ms"],
        )
        self._repeat(
            lambda: cluster.logs.remove_expired_producers(cluster.clock.wall_ms()),
            first_ms=settings["producer.id.expiration.check.interval.ms"],
            interval_ms=settings["producer.id.expiration.check.interval.ms"],
        )
        if settings["log.cleaner.enable"]:
            LogCleaner(cluster).start()

    def _repeat(self, work: Callable[[], None], *, first_ms: int, interval_ms: int) -> None:
        timer = self._cluster.timer

        def run() -> None:
            timer.add(alarm, timer.now_ms() + interval_ms)
            work()

        alarm = Alarm(run)
        timer.add(alarm, timer.now_ms() + first_ms)

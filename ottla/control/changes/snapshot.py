"""All topics and groups of a broker as they are at one moment, to go back to, or to begin another broker with.

    snapshot ─▶ Snapshot ─▶ restore, in the same broker, as often as one likes
                       └──▶ restore, in a broker that has just been started: a fork

The bytes of records are shared and not copied (`log.freezing`), so size hardly counts. Restoring is to the broker what
a restart is: logs are there, groups and transactions are read from theirs, and members' sessions begin anew. To
clients it is as if a leader had been elected that knows less: leader epochs are higher than before, so they look
whether what they have read is still there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ottla.control.changes.reset import TURNS_MAX, forget_topics
from ottla.events.kind import Kind
from ottla.log.freezing import NotInMemory, freeze
from ottla.purgatory import VirtualClock
from ottla.settings.settings import CLUSTER

if TYPE_CHECKING:
    from ottla.broker.lifecycle.assembly import Assembly
    from ottla.log.storage.memory import FrozenLog

_ON_DISK: Final = "snapshots are of brokers that keep their logs in memory; make this one without a data directory"


class SnapshotRefused(RuntimeError):
    """The broker can't take this snapshot, or go back to it; the text says why."""


@dataclass(frozen=True, slots=True)
class FrozenTopic:
    """A topic."""

    topic_id: bytes
    configs: Mapping[str, str]
    replicas: tuple[tuple[int, ...], ...]
    """By partition."""
    logs: tuple[FrozenLog, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Topics and groups as they were."""

    topics: Mapping[str, FrozenTopic]
    partitions_placed: int
    settings: Mapping[str, Mapping[str, str]]
    """What was changed while the broker ran, by layer."""
    group_configs: Mapping[str, Mapping[str, str]]
    client_metrics_configs: Mapping[str, Mapping[str, str]]
    producer_ids_end: int
    wall_ms: int

    @property
    def size_bytes(self) -> int:
        """What its logs hold, shared with other snapshots or not."""
        return sum(
            segment.size_bytes for topic in self.topics.values() for log in topic.logs for segment in log.segments
        )


def snapshot(parts: Assembly) -> Snapshot:
    """What there is now. Raises `SnapshotRefused` where logs are on disk."""
    cluster = parts.cluster
    if cluster.store is not None:  # even if there are no logs yet
        raise SnapshotRefused(_ON_DISK)
    try:
        topics = {
            name: FrozenTopic(
                topic.topic_id,
                dict(topic.configs),
                tuple(tuple(placement.assigned) for placement in topic.placements),
                tuple(map(freeze, topic.partitions)),
            )
            for name, topic in cluster.topics.items()
        }
    except NotInMemory:
        raise SnapshotRefused(_ON_DISK) from None
    settings = cluster.settings
    return Snapshot(
        topics,
        cluster.partitions_placed,
        {layer: settings.layer(layer) for layer in _layers(parts) if settings.has_changed(layer)},
        {group_id: dict(configs) for group_id, configs in cluster.group_configs.items()},
        {name: dict(configs) for name, configs in cluster.client_metrics_configs.items()},
        cluster.new_producer_id(),
        cluster.wall_ms(),
    )


async def restore(parts: Assembly, to: Snapshot) -> None:
    """Have topics and groups as they were then. Raises `SnapshotRefused`."""
    cluster = parts.cluster
    if cluster.store is not None:
        raise SnapshotRefused("a broker that keeps its logs in a data directory can't take on what was in memory")
    await forget_topics(parts)
    for layer in _layers(parts):
        if layer in to.settings or cluster.settings.has_changed(layer):
            cluster.change_settings(layer, to.settings.get(layer, {}))
    cluster.group_configs.clear()
    cluster.group_configs.update({group_id: dict(configs) for group_id, configs in to.group_configs.items()})
    cluster.client_metrics_configs.clear()
    cluster.client_metrics_configs.update({name: dict(configs) for name, configs in to.client_metrics_configs.items()})
    cluster.skip_producer_ids(to.producer_ids_end)
    clock = parts.timer.clock
    if isinstance(clock, VirtualClock):
        clock.set_date(to.wall_ms)
    for name, topic in to.topics.items():
        logs = [
            replace(log, leader_epoch=max(log.leader_epoch, cluster.leader_epoch_deleted_max) + 1) for log in topic.logs
        ]
        cluster.logs.begin_with(name, logs)
        cluster.create_topic(name, [list(replicas) for replicas in topic.replicas], topic.configs, topic.topic_id)
    cluster.partitions_placed = to.partitions_placed
    await _coordinators_loaded(parts)
    parts.events.tell(Kind.BROKER_RESTORED, topics=len(to.topics))


async def _coordinators_loaded(parts: Assembly) -> None:
    """Return when groups and transactions are coordinated again."""
    parts.services.begin_coordinating()
    coordinators = [
        coordinator for coordination in parts.services.coordinations for coordinator in coordination.of_node.values()
    ]
    for _ in range(TURNS_MAX):
        if not any(coordinator.runtime.is_any_loading for coordinator in coordinators):
            return
        await asyncio.sleep(0)
    raise RuntimeError(f"groups or transactions are still being read after {TURNS_MAX} turns of the loop")


def _layers(parts: Assembly) -> list[str]:
    return [CLUSTER, *map(str, parts.cluster.all_nodes)]

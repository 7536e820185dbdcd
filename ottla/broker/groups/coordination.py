"""Group coordinators on their nodes: each coordinates the groups in the partitions of __consumer_offsets it leads.

A node that comes to lead one reads its groups from the log (`internal`). What the groups write is appended here,
as one batch of the broker's own, and so are the markers of transactions that have committed offsets.

Kafka: CoordinatorPartitionWriter, GroupCoordinatorService.completeTransaction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ottla.broker.groups.notes import NotesToStream
from ottla.broker.internal.coordination import Coordination
from ottla.broker.internal.loading import Loading
from ottla.broker.internal.log import InternalLog
from ottla.broker.internal.recovery import Recovery
from ottla.broker.internal.topic import InternalTopic
from ottla.broker.upkeep.rounds import PAUSE_MS_MIN
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.cluster.uuids import uuid_of
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.runtime.runtime import PartitionState
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.events.stream import Event, Stream
    from ottla.log.partition import Partition
    from ottla.log.transaction_marker import EndedTransaction
    from ottla.pacing import Pace
    from ottla.purgatory import Timer
    from ottla.settings.settings import Settings

#: Puts something around the group log, such as a fault.

_MS_PER_MINUTE = 60_000


def group_config(settings: Settings, partitions_count: int) -> GroupConfig:
    """The coordinator's part of the settings, for a group log of so many partitions."""
    return GroupConfig(
        group_min_session_timeout_ms=settings["group.min.session.timeout.ms"],
        group_max_session_timeout_ms=settings["group.max.session.timeout.ms"],
        group_initial_rebalance_delay_ms=settings["group.initial.rebalance.delay.ms"],
        group_max_size=settings["group.max.size"],
        offset_metadata_max_bytes=settings["offset.metadata.max.bytes"],
        offsets_retention_ms=settings["offsets.retention.minutes"] * _MS_PER_MINUTE,
        offsets_retention_check_interval_ms=max(PAUSE_MS_MIN, settings["offsets.retention.check.interval.ms"]),
        offsets_topic_num_partitions=partitions_count,
    )


class GroupTidings:
    """Tells what became of a partition of __consumer_offsets, and of a group that has met a bug of ours."""

    def __init__(self, events: Stream, partitions_count: int) -> None:
        self._events = events
        self._partitions_count = partitions_count

    def loaded(self, partition: int, machines: int, duration_ms: int) -> None:
        self._events.tell(Kind.GROUP_LOG_LOADED, partition=partition, groups=machines, duration_ms=duration_ms)

    def failed(self, partition: int, reason: str, raised: Exception | None) -> None:
        self._events.tell(Kind.GROUP_LOG_LOAD_FAILED, raised=raised, partition=partition, reason=reason)

    def ignored(self, partition: int, record_type: int, records: int) -> None:
        self._events.tell(Kind.GROUP_LOG_RECORDS_IGNORED, partition=partition, record_type=record_type, records=records)

    def all_read(self) -> None:
        self._events.tell(Kind.GROUPS_LOADED)

    def name_of(self, group_id: str) -> str:
        return f"group {group_id}"

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self._partitions_count)

    def has_failed(self, group_id: str, reason: str, raised: Exception) -> None:
        self._events.tell(Kind.GROUP_FAILED, raised=raised, group_id=group_id, reason=reason)

    def has_recovered(self, group_id: str) -> None:
        self._events.tell(Kind.GROUP_RECOVERED, group_id=group_id)


class GroupCoordination(Coordination[Coordinator]):
    """The coordinators of all nodes, and what they have to know of the cluster's topics."""

    def __init__(self, cluster: Cluster, timer: Timer, tasks: TaskGroup, background: Background, pace: Pace) -> None:
        super().__init__("groups")
        config = group_config(cluster.settings, cluster.group_partitions_count)
        group_log = InternalLog(cluster, GROUP_TOPIC)
        notes = NotesToStream(cluster.events)
        self._cluster = cluster
        tidings = GroupTidings(cluster.events, config.offsets_topic_num_partitions)
        self._loading = Loading(background, "group loading", tidings, cluster.events)
        self._topic = InternalTopic(cluster, GROUP_TOPIC, self.take_over, self.resign)
        recovery = Recovery(tidings, self._topic, self._loading, timer, lambda node_id: self.of_node[node_id].runtime)
        self.of_node = {
            node_id: Coordinator(
                config,
                group_log,
                timer,
                tasks,
                notes,
                partial(recovery.failed, node_id),
                lambda steps: background.start(steps, "expired offsets"),
                pace,
            )
            for node_id in cluster.all_nodes
        }
        cluster.events.read(self._topic_deleted, [Kind.TOPIC_DELETED])
        self._topic.take_over_all()

    def take_over(self, log: Partition, node_id: int) -> None:
        """A node leads this partition of __consumer_offsets now: it reads the groups in it, and then coordinates them.

        Until then clients are told to wait. The node that coordinated them before has to resign first.
        """
        self._loading.load(self.of_node[node_id].runtime, log)

    def resign(self, partition: int, node_id: int) -> None:
        """A node does not lead this partition any more: who waits in its groups is told to look for the coordinator."""
        self.of_node[node_id].runtime.unload(partition)

    def on_partition_read(self, tell: Callable[[], object]) -> None:
        """Have this called each time a partition's groups were read, or can't be."""
        self._loading.on_each.append(tell)

    def end_transaction(self, log: Partition, node_id: int, ended: EndedTransaction) -> ErrorCode:
        """Write a marker to this partition of __consumer_offsets, and have what it says come to count, or not.

        NOT_LEADER_OR_FOLLOWER while the node does not coordinate its groups.
        """
        coordinator = self.of_node[node_id]
        if coordinator.runtime.state_of(log.index) is not PartitionState.ACTIVE:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if ended.is_of_nobody:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        error = log.append_ended(ended, self._cluster.wall_ms()).error
        if error is ErrorCode.NONE:
            coordinator.end_transaction(log.index, ended.producer_id, is_commit=ended.marker.is_commit)
        return error

    def _topic_deleted(self, event: Event) -> None:
        name, topic_id = event.details["topic"], uuid_of(event.details["topic_id"])
        if name != GROUP_TOPIC:
            for coordinator in self.of_node.values():
                coordinator.topics_deleted({name: topic_id})

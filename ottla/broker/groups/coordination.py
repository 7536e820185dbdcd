"""Group coordinators on their nodes: each coordinates the groups in the partitions of __consumer_offsets it leads.

How partitions come and go is `internal.coordination`. Here are the settings, and the markers of transactions that have
committed offsets: they are appended to the group log, and the groups are told.

Kafka: GroupCoordinatorService.completeTransaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.broker.groups.notes import NotesToStream
from ottla.broker.internal.coordinated_topic import CoordinatedTopic
from ottla.broker.internal.coordination import Coordination
from ottla.broker.internal.log import InternalLog
from ottla.broker.upkeep.periodic_task import PAUSE_MS_MIN
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.coordinator.runtime.runtime import PartitionState
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
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


#: Group coordinators and what is told of them.
GROUPS: Final = CoordinatedTopic(
    name="groups",
    topic=GROUP_TOPIC,
    machine="group {}",
    machine_fields=lambda group_id: {"group_id": group_id},
    loading="group loading",
    loaded=Kind.GROUP_LOG_LOADED,
    machines_field="groups",
    load_failed=Kind.GROUP_LOG_LOAD_FAILED,
    records_ignored=Kind.GROUP_LOG_RECORDS_IGNORED,
    all_loaded=Kind.GROUPS_LOADED,
    machine_failed=Kind.GROUP_FAILED,
    machine_recovered=Kind.GROUP_RECOVERED,
)


class GroupCoordination(Coordination[Coordinator]):
    """The group coordinators of all nodes."""

    def __init__(self, cluster: Cluster, timer: Timer, tasks: TaskGroup, background: Background, pace: Pace) -> None:
        super().__init__(GROUPS, cluster, timer, background)
        config = group_config(cluster.settings, cluster.group_partitions_count)
        group_log = InternalLog(cluster, GROUP_TOPIC)
        notes = NotesToStream(cluster.events)
        self._start(
            lambda _node_id, failed: Coordinator(
                config,
                group_log,
                timer,
                tasks,
                notes,
                failed,
                lambda steps: background.start(steps, "expired offsets"),
                pace,
            )
        )

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

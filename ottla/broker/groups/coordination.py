"""Group coordinators on their nodes: each coordinates the groups in the partitions of __consumer_offsets it leads.

A node that comes to lead one reads its groups from the log (`internal_topic`). What the groups write is appended here,
as one batch of the broker's own, and so are the markers of transactions that have committed offsets.

Kafka: CoordinatorPartitionWriter, GroupCoordinatorService.completeTransaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ottla.broker.groups.loading import Loading
from ottla.broker.groups.notes import NotesToStream
from ottla.broker.internal_topic import InternalTopic
from ottla.broker.rounds import PAUSE_MS_MIN
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.cluster.uuids import uuid_of
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.coordinator.runtime.runtime import PartitionState
from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of
from ottla.log.producer_state import Verification
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.owner import Log as GroupLog
    from ottla.coordinator.runtime.records import Record
    from ottla.events.stream import Event, Stream
    from ottla.log.partition import Partition
    from ottla.log.transaction_marker import EndedTransaction
    from ottla.pacing import Pace
    from ottla.purgatory import Timer
    from ottla.settings.settings import Settings

#: Puts something around the group log, such as a fault.
WrapGroupLog: TypeAlias = "Callable[[GroupLog], GroupLog]"

_MS_PER_MINUTE = 60_000
#: A group that was well for so long starts from the beginning with its next failure.
_QUIET_MS = 3_600_000


class GroupLogOnTopic:
    """The group log of the coordinators: the partitions of __consumer_offsets."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def append(self, partition: int, records: Sequence[Record]) -> ErrorCode:
        """Append the records as one batch, and say why not if not."""
        topic = self._cluster.topics.get(GROUP_TOPIC)
        if topic is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = topic.partitions[partition]
        if topic.placements[partition].has_too_few_in_sync(log.config.min_insync_replicas):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        wall_ms = self._cluster.wall_ms()
        batch = build_batch(records, timestamp_ms=wall_ms)
        return log.append_internal(batch, wall_ms).error

    def append_in_transaction(self, partition: int, records: Sequence[Record], writer: Writer) -> ErrorCode:
        """The same as part of a producer's transaction."""
        topic = self._cluster.topics.get(GROUP_TOPIC)
        if topic is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = topic.partitions[partition]
        if topic.placements[partition].has_too_few_in_sync(log.config.min_insync_replicas):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        wall_ms = self._cluster.wall_ms()
        batch = build_batch(
            records,
            timestamp_ms=wall_ms,
            producer_id=writer.producer_id,
            producer_epoch=writer.producer_epoch,
            is_transactional=True,
        )
        verification = writer.verification
        assert verification is None or isinstance(verification, Verification)
        return log.append_internal(batch, wall_ms, verification).error


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
    """Tells what became of a partition of __consumer_offsets."""

    def __init__(self, events: Stream) -> None:
        self._events = events

    def loaded(self, partition: int, machines: int, duration_ms: int) -> None:
        self._events.tell(Kind.GROUP_LOG_LOADED, partition=partition, groups=machines, duration_ms=duration_ms)

    def failed(self, partition: int, reason: str, raised: Exception | None) -> None:
        self._events.tell(Kind.GROUP_LOG_LOAD_FAILED, raised=raised, partition=partition, reason=reason)

    def ignored(self, partition: int, record_type: int, records: int) -> None:
        self._events.tell(Kind.GROUP_LOG_RECORDS_IGNORED, partition=partition, record_type=record_type, records=records)

    def all_read(self) -> None:
        self._events.tell(Kind.GROUPS_LOADED)


class GroupCoordination:
    """The coordinators of all nodes, and what they have to know of the cluster's topics."""

    def __init__(
        self,
        cluster: Cluster,
        timer: Timer,
        tasks: TaskGroup,
        background: Background,
        pace: Pace,
        *,
        wrap_group_log: WrapGroupLog | None,
    ) -> None:
        """`wrap_group_log`: what is to stand around the group log, if anything is."""
        config = group_config(cluster.settings, cluster.group_partitions_count)
        group_log: GroupLog = GroupLogOnTopic(cluster)
        if wrap_group_log is not None:
            group_log = wrap_group_log(group_log)
        notes = NotesToStream(cluster.events)
        self._cluster = cluster
        self._timer = timer
        self._events = cluster.events
        self._loading = Loading(background, "group loading", GroupTidings(cluster.events), cluster.events)
        self._setbacks: Setbacks[str] = Setbacks(timer.now_ms, _QUIET_MS)
        self.of_node = {
            node_id: Coordinator(
                config,
                group_log,
                timer,
                tasks,
                notes,
                partial(self._group_failed, node_id),
                lambda steps: background.start(steps, "expired offsets"),
                pace,
            )
            for node_id in cluster.all_nodes
        }
        self._topic = InternalTopic(cluster, GROUP_TOPIC, self.take_over, self.resign)
        cluster.events.read(self._topic_deleted, [Kind.TOPIC_DELETED])
        self._topic.take_over_all()

    @property
    def is_settled(self) -> bool:
        """Whether no group has anything left to do at this moment."""
        return all(coordinator.is_settled for coordinator in self.of_node.values())

    def close(self) -> None:
        """Answer all members that wait, and coordinate nothing any more."""
        for coordinator in self.of_node.values():
            coordinator.close()

    def put_around_log(self, put: Callable[[GroupLog], GroupLog]) -> None:
        """Have what `put` makes of the group log stand in its place from now on, such as a fault."""
        for coordinator in self.of_node.values():
            coordinator.runtime.put_around_log(put)

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
        error = log.append_ended(ended, self._cluster.wall_ms()).error
        if error is ErrorCode.NONE:
            coordinator.end_transaction(log.index, ended.producer_id, is_commit=ended.marker.is_commit)
        return error

    def _group_failed(self, node_id: int, group_id: str, error: Exception) -> None:
        """A group has met a bug. It is read anew from its log, at once or, if it fails again, later.

        Called while the error is being handled. Kafka takes back what the request has changed, and the group goes on.
        """
        setbacks = self._setbacks
        cause = error.__cause__ or error
        if setbacks.failed(group_id, cause):
            self._events.tell(Kind.GROUP_FAILED, raised=error, group_id=group_id, reason=reason_of(cause))
        recovery = Alarm(lambda: self._recover(node_id, group_id), f"recovery of group {group_id}")
        self._timer.add_in(recovery, 0 if setbacks.failures(group_id) == 1 else setbacks.backoff_ms(group_id))

    def _recover(self, node_id: int, group_id: str) -> None:
        coordinator, topic = self.of_node[node_id], self._topic.topic
        if topic is None or not coordinator.runtime.is_given_up(group_id):
            return

        def then(error: Exception | None) -> None:
            if error is not None:
                self._group_failed(node_id, group_id, error)
            elif self._setbacks.failures(group_id) == 1:
                self._events.tell(Kind.GROUP_RECOVERED, group_id=group_id)

        self._loading.recover(coordinator.runtime, topic.partitions[coordinator.partition_of(group_id)], group_id, then)

    def _topic_deleted(self, event: Event) -> None:
        name, topic_id = event.details["topic"], uuid_of(event.details["topic_id"])
        if name != GROUP_TOPIC:
            for coordinator in self.of_node.values():
                coordinator.topics_deleted({name: topic_id})

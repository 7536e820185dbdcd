"""Group coordinators on their nodes: each coordinates the groups in the partitions of __consumer_offsets it leads.

When that topic is made its partitions are handed out, and when it is deleted nobody coordinates any group until it is
made anew. When a partition gets another leader, that node takes it over and reads its groups from the log; the one
before has resigned by then. What the groups write is appended here, as one batch of the broker's own.

Kafka: BrokerMetadataPublisher (who is told of partitions won and lost), CoordinatorPartitionWriter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ottla.broker.groups.loading import GroupLoading
from ottla.broker.groups.notes import NotesToStream
from ottla.broker.rounds import PAUSE_MS_MIN
from ottla.cluster.topic import NO_LEADER
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.cluster.uuids import uuid_of
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.topic import Topic
    from ottla.coordinator.runtime.owner import Log as GroupLog
    from ottla.coordinator.runtime.records import Record
    from ottla.events.stream import Event
    from ottla.log.partition import Partition
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
        self._timer = timer
        self._events = cluster.events
        self._loading = GroupLoading(background, cluster.events)
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
        self._cluster = cluster
        events = cluster.events
        events.read(self._topic_created, [Kind.TOPIC_CREATED])
        events.read(self._topic_deleted, [Kind.TOPIC_DELETED])
        events.read(self._leader_changed, [Kind.PARTITION_LEADER_CHANGED])
        events.read(self._node_died, [Kind.NODE_DIED])
        self._take_over_all()

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

    def _leader_changed(self, event: Event) -> None:
        if event.details["topic"] != GROUP_TOPIC:
            return
        index, former_leader_id = event.details["partition"], event.details["former_leader_id"]
        if former_leader_id != NO_LEADER:
            self.resign(index, former_leader_id)
        self._let_leader_take_over(self._cluster.topics[GROUP_TOPIC], index)

    def _let_leader_take_over(self, topic: Topic, index: int) -> None:
        leader_id = topic.placements[index].leader_id
        if leader_id != NO_LEADER and leader_id not in self._cluster.silent_node_ids:
            self.take_over(topic.partitions[index], leader_id)

    def _node_died(self, event: Event) -> None:
        """Its groups have no coordinator until it is missed, though clients are told of it."""
        assert event.node_id is not None
        topic = self._cluster.topics.get(GROUP_TOPIC)
        for index, placement in enumerate(topic.placements if topic is not None else ()):
            if placement.leader_id == event.node_id:
                self.resign(index, event.node_id)

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
        coordinator, topic = self.of_node[node_id], self._cluster.topics.get(GROUP_TOPIC)
        if topic is None or not coordinator.runtime.is_given_up(group_id):
            return

        def then(error: Exception | None) -> None:
            if error is not None:
                self._group_failed(node_id, group_id, error)
            elif self._setbacks.failures(group_id) == 1:
                self._events.tell(Kind.GROUP_RECOVERED, group_id=group_id)

        self._loading.recover(coordinator.runtime, topic.partitions[coordinator.partition_of(group_id)], group_id, then)

    def _topic_created(self, event: Event) -> None:
        if event.details["topic"] == GROUP_TOPIC:
            self._take_over_all()

    def _take_over_all(self) -> None:
        """Hand the partitions of the group log out, if it is there."""
        topic = self._cluster.topics.get(GROUP_TOPIC)
        for index in range(len(topic.partitions) if topic is not None else 0):
            assert topic is not None
            self._let_leader_take_over(topic, index)

    def _topic_deleted(self, event: Event) -> None:
        name, topic_id = event.details["topic"], uuid_of(event.details["topic_id"])
        for coordinator in self.of_node.values():
            if name == GROUP_TOPIC:
                for index in range(event.details["partitions"]):
                    coordinator.runtime.unload(index)
            else:
                coordinator.topics_deleted({name: topic_id})

"""Transaction coordinators on their nodes: each has the transactional ids in the partitions of __transaction_state it
leads.

A node that comes to lead one reads its ids from the log (`internal_topic`), and goes on with what was decided and not
carried out. What is kept of them is appended here, and markers are written by `markers`.

Kafka: TransactionCoordinator.onElection, onResignation; TransactionStateManager.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.broker.groups.loading import Loading
from ottla.broker.internal_topic import InternalTopic
from ottla.broker.rounds import PAUSE_MS_MIN
from ottla.broker.transactions.markers import MarkerWriter
from ottla.broker.transactions.notes import TransactionNotes
from ottla.cluster.refused import Refused
from ottla.cluster.topic import NO_LEADER
from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.transactions.config import TransactionConfig
from ottla.coordinator.transactions.coordinator import TransactionCoordinator
from ottla.events.kind import Kind
from ottla.events.setbacks import Setbacks, reason_of
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.background import Background
    from ottla.broker.groups.coordination import GroupCoordination
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.records import Record
    from ottla.events.stream import Stream
    from ottla.log.partition import Partition
    from ottla.purgatory import Timer
    from ottla.settings.settings import Settings

#: A partition that was well for so long starts from the beginning with its next failure.
_QUIET_MS: Final = 3_600_000


class TransactionLogOnTopic:
    """The log of the coordinators: the partitions of __transaction_state."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def append(self, partition: int, records: Sequence[Record]) -> ErrorCode:
        """Append the records as one batch, and say why not if not."""
        topic = self._cluster.topics.get(TRANSACTION_TOPIC)
        if topic is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = topic.partitions[partition]
        if topic.placements[partition].has_too_few_in_sync(log.config.min_insync_replicas):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        wall_ms = self._cluster.wall_ms()
        return log.append_internal(build_batch(records, timestamp_ms=wall_ms), wall_ms).error

    def append_in_transaction(self, _partition: int, _records: Sequence[Record], _writer: Writer) -> ErrorCode:
        """What transactions are kept in is in no transaction."""
        return ErrorCode.INVALID_TXN_STATE


def transaction_config(settings: Settings, partitions_count: int) -> TransactionConfig:
    """The coordinator's part of the settings, for a log of so many partitions."""
    return TransactionConfig(
        transaction_max_timeout_ms=settings["transaction.max.timeout.ms"],
        transactional_id_expiration_ms=settings["transactional.id.expiration.ms"],
        abort_timed_out_interval_ms=max(
            PAUSE_MS_MIN, settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        ),
        remove_expired_interval_ms=max(
            PAUSE_MS_MIN, settings["transaction.remove.expired.transaction.cleanup.interval.ms"]
        ),
        num_partitions=partitions_count,
        transaction_version=settings["ottla.transaction.version"],
    )


class TransactionTidings:
    """Tells what became of a partition of __transaction_state."""

    def __init__(self, events: Stream) -> None:
        self._events = events

    def loaded(self, partition: int, _machines: int, duration_ms: int) -> None:
        self._events.tell(Kind.TRANSACTION_LOG_LOADED, partition=partition, duration_ms=duration_ms)

    def failed(self, partition: int, reason: str, raised: Exception | None) -> None:
        self._events.tell(Kind.TRANSACTION_LOG_LOAD_FAILED, raised=raised, partition=partition, reason=reason)

    def ignored(self, partition: int, record_type: int, records: int) -> None:
        self._events.tell(
            Kind.TRANSACTION_LOG_RECORDS_IGNORED, partition=partition, record_type=record_type, records=records
        )

    def all_read(self) -> None:
        """Nobody waits for that."""


class TransactionCoordination:
    """The transaction coordinators of all nodes."""

    def __init__(
        self,
        cluster: Cluster,
        timer: Timer,
        tasks: TaskGroup,
        background: Background,
        groups: GroupCoordination,
    ) -> None:
        config = transaction_config(cluster.settings, cluster.transaction_partitions_count)
        transaction_log = TransactionLogOnTopic(cluster)
        notes = TransactionNotes(cluster.events)
        self._cluster = cluster
        self._timer = timer
        self._events = cluster.events
        self._partitions_count = config.num_partitions
        self._loading = Loading(background, "transaction loading", TransactionTidings(cluster.events), cluster.events)
        self._setbacks: Setbacks[str] = Setbacks(timer.now_ms, _QUIET_MS)
        self._topic = InternalTopic(cluster, TRANSACTION_TOPIC, self.take_over, self.resign)
        self.of_node: dict[int, TransactionCoordinator] = {}
        self._markers = MarkerWriter(cluster, timer, background, groups, self.of_node)
        for node_id in cluster.all_nodes:
            self.of_node[node_id] = TransactionCoordinator(
                config,
                transaction_log,
                timer,
                tasks,
                leader_epoch_of=self._leader_epoch_of,
                new_producer_id=self._new_producer_id,
                write_markers=partial(self._markers.write, node_id),
                notices=notes,
                is_told=notes.is_told,
                failed=partial(self._failed, node_id),
            )
        self._topic.take_over_all()
        cluster.events.read(lambda _: self._follow_feature(config), [Kind.SETTINGS_CHANGED])

    def _follow_feature(self, config: TransactionConfig) -> None:
        """UpdateFeatures may have changed the level of transaction.version."""
        config.transaction_version = self._cluster.settings["ottla.transaction.version"]

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to do at this moment."""
        return all(coordinator.is_settled for coordinator in self.of_node.values())

    def close(self) -> None:
        """Coordinate nothing any more."""
        self._markers.close()
        for coordinator in self.of_node.values():
            coordinator.close()

    def coordinator_of(self, transactional_id: str) -> TransactionCoordinator | None:
        """Who coordinates this id; None: nobody that can be asked."""
        topic = self._topic.topic
        index = partition_for(transactional_id, self._partitions_count)
        if topic is None or index >= len(topic.placements):
            return None
        leader_id = topic.placements[index].leader_id
        if leader_id == NO_LEADER or leader_id in self._cluster.silent_node_ids:
            return None
        return self.of_node.get(leader_id)

    def take_over(self, log: Partition, node_id: int) -> None:
        """A node leads this partition of __transaction_state now. Until it is read clients are told to wait."""
        self._loading.load(self.of_node[node_id].runtime, log)

    def resign(self, partition: int, node_id: int) -> None:
        """A node does not lead this partition any more."""
        self.of_node[node_id].runtime.unload(partition)

    def _leader_epoch_of(self, partition: int) -> int:
        topic = self._topic.topic
        assert topic is not None, "somebody leads a partition of it"
        return topic.partitions[partition].leader_epoch

    def _new_producer_id(self) -> int | None:
        try:
            return self._cluster.new_producer_id()
        except Refused:
            return None  # it can't be kept that somebody has it

    def _failed(self, node_id: int, key: str, error: Exception) -> None:
        """A partition's ids have met a bug. They are read anew from their log, at once or, if that fails, later.

        Called while the error is being handled.
        """
        cause = error.__cause__ or error
        if self._setbacks.failed(key, cause):
            self._events.tell(Kind.TRANSACTIONS_FAILED, raised=error, partition=int(key), reason=reason_of(cause))
        recovery = Alarm(lambda: self._recover(node_id, key), f"recovery of partition {key} of __transaction_state")
        self._timer.add_in(recovery, 0 if self._setbacks.failures(key) == 1 else self._setbacks.backoff_ms(key))

    def _recover(self, node_id: int, key: str) -> None:
        coordinator, topic = self.of_node[node_id], self._topic.topic
        if topic is None or not coordinator.runtime.is_given_up(key):
            return

        def then(error: Exception | None) -> None:
            if error is not None:
                self._failed(node_id, key, error)
            elif self._setbacks.failures(key) == 1:
                self._events.tell(Kind.TRANSACTIONS_RECOVERED, partition=int(key))

        self._loading.recover(coordinator.runtime, topic.partitions[int(key)], key, then)

"""Transaction coordinators on their nodes: each has the transactional ids in the partitions of __transaction_state it
leads.

A node that comes to lead one reads its ids from the log (`internal`), and goes on with what was decided and not
carried out. What is kept of them is appended here, and markers are written by `markers`.

Kafka: TransactionCoordinator.onElection, onResignation; TransactionStateManager.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ottla.broker.internal.coordination import Coordination
from ottla.broker.internal.loading import Loading
from ottla.broker.internal.log import InternalLog
from ottla.broker.internal.recovery import Recovery
from ottla.broker.internal.topic import InternalTopic
from ottla.broker.transactions.markers import MAY_BE_WRITABLE, Groups, MarkerWriter
from ottla.broker.transactions.notes import TransactionNotes
from ottla.broker.upkeep.rounds import PAUSE_MS_MIN
from ottla.cluster.refused import Refused
from ottla.cluster.topic import NO_LEADER
from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.transactions.config import TransactionConfig
from ottla.coordinator.transactions.coordinator import TransactionCoordinator
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.records import Record
    from ottla.events.stream import Stream
    from ottla.log.partition import Partition
    from ottla.pacing import Pace
    from ottla.purgatory import Timer
    from ottla.settings.settings import Settings


class TransactionLog(InternalLog):
    """The log of the coordinators: the partitions of __transaction_state."""

    def append_in_transaction(self, _partition: int, _records: Sequence[Record], _writer: Writer) -> ErrorCode:
        """What transactions are kept in is in no transaction."""
        return ErrorCode.INVALID_TXN_STATE


def transaction_config(settings: Settings, partitions_count: int) -> TransactionConfig:
    """The coordinator's part of the settings, for a log of so many partitions."""
    return TransactionConfig(
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
    """Tells what became of a partition of __transaction_state, and of its ids that have met a bug of ours.

    All ids of a partition are one machine, whose key is the partition.
    """

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

    def name_of(self, key: str) -> str:
        return f"partition {key} of __transaction_state"

    def partition_of(self, key: str) -> int:
        return int(key)

    def has_failed(self, key: str, reason: str, raised: Exception) -> None:
        self._events.tell(Kind.TRANSACTIONS_FAILED, raised=raised, partition=int(key), reason=reason)

    def has_recovered(self, key: str) -> None:
        self._events.tell(Kind.TRANSACTIONS_RECOVERED, partition=int(key))


class TransactionCoordination(Coordination[TransactionCoordinator]):
    """The transaction coordinators of all nodes."""

    def __init__(
        self,
        cluster: Cluster,
        timer: Timer,
        tasks: TaskGroup,
        background: Background,
        pace: Pace,
        groups: Groups,
    ) -> None:
        super().__init__("transactions")
        config = transaction_config(cluster.settings, cluster.transaction_partitions_count)
        transaction_log = TransactionLog(cluster, TRANSACTION_TOPIC)
        notes = TransactionNotes(cluster.events)
        self._cluster = cluster
        self._partitions_count = config.num_partitions
        tidings = TransactionTidings(cluster.events)
        self._loading = Loading(background, "transaction loading", tidings, cluster.events)
        self._topic = InternalTopic(cluster, TRANSACTION_TOPIC, self.take_over, self.resign)
        recovery = Recovery(tidings, self._topic, self._loading, timer, lambda node_id: self.of_node[node_id].runtime)
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
                failed=partial(recovery.failed, node_id),
                pace=pace,
            )
        self._topic.take_over_all()
        cluster.events.read(lambda _: self._complete_unwritten(), MAY_BE_WRITABLE)
        cluster.events.read(lambda _: self._follow_feature(config), [Kind.SETTINGS_CHANGED])

    def _follow_feature(self, config: TransactionConfig) -> None:
        """UpdateFeatures may have changed the level of transaction.version."""
        config.transaction_version = self._cluster.settings["ottla.transaction.version"]

    def _complete_unwritten(self) -> None:
        for coordinator in self.of_node.values():
            coordinator.complete_unwritten()

    def close(self) -> None:
        """Coordinate nothing any more."""
        self._markers.close()
        super().close()

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

"""Transaction coordinators on their nodes: each has the transactional ids in the partitions of __transaction_state it
leads.

How partitions come and go is `internal.coordination`. Here are the settings, and what a coordinator needs of the
cluster: producer ids, the leader epoch of its partition, and the `markers` that it asks for.

Kafka: TransactionStateManager.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.broker.internal.coordinated_topic import CoordinatedTopic
from ottla.broker.internal.coordination import Coordination
from ottla.broker.internal.log import InternalLog
from ottla.broker.transactions.markers import MAY_BE_WRITABLE, Groups, MarkerWriter
from ottla.broker.transactions.notes import TransactionNotes
from ottla.broker.upkeep.periodic_task import PAUSE_MS_MIN
from ottla.cluster.refused import Refused
from ottla.cluster.topic import NO_LEADER
from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.coordinator.java_hash import partition_for
from ottla.coordinator.transactions.config import TransactionConfig
from ottla.coordinator.transactions.coordinator import TransactionCoordinator
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from asyncio import TaskGroup

    from ottla.broker.upkeep.background import Background
    from ottla.cluster.cluster import Cluster
    from ottla.pacing import Pace
    from ottla.purgatory import Timer
    from ottla.settings.settings import Settings


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


#: Transaction coordinators and what is told of them. All ids of a partition are one machine; its key is the partition.
TRANSACTIONS: Final = CoordinatedTopic(
    name="transactions",
    topic=TRANSACTION_TOPIC,
    machine="partition {} of __transaction_state",
    machine_fields=lambda key: {"partition": int(key)},
    loading="transaction loading",
    loaded=Kind.TRANSACTION_LOG_LOADED,
    load_failed=Kind.TRANSACTION_LOG_LOAD_FAILED,
    records_ignored=Kind.TRANSACTION_LOG_RECORDS_IGNORED,
    machine_failed=Kind.TRANSACTIONS_FAILED,
    machine_recovered=Kind.TRANSACTIONS_RECOVERED,
)


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
        super().__init__(TRANSACTIONS, cluster, timer, background)
        config = transaction_config(cluster.settings, cluster.transaction_partitions_count)
        transaction_log = InternalLog(cluster, TRANSACTION_TOPIC)
        notes = TransactionNotes(cluster.events)
        self._partitions_count = config.num_partitions
        self._markers = MarkerWriter(cluster, timer, background, groups, self.of_node)
        self._start(
            lambda node_id, failed: TransactionCoordinator(
                config,
                transaction_log,
                timer,
                tasks,
                leader_epoch_of=self._leader_epoch_of,
                new_producer_id=self._new_producer_id,
                write_markers=partial(self._markers.write, node_id),
                notices=notes,
                is_told=notes.is_told,
                failed=failed,
                pace=pace,
            )
        )
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
        """The coordinator of this id; None: no node that can be asked has it."""
        topic = self._topic.topic
        index = partition_for(transactional_id, self._partitions_count)
        if topic is None or index >= len(topic.placements):
            return None
        leader_id = topic.placements[index].leader_id
        if leader_id == NO_LEADER or leader_id in self._cluster.silent_node_ids:
            return None
        return self.of_node.get(leader_id)

    def _leader_epoch_of(self, partition: int) -> int:
        topic = self._topic.topic
        assert topic is not None, "a node leads a partition of it"
        return topic.partitions[partition].leader_epoch

    def _new_producer_id(self) -> int | None:
        try:
            return self._cluster.new_producer_id()
        except Refused:
            return None  # that the id is taken can't be kept

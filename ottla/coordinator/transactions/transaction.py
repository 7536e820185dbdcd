"""What the coordinator keeps of a transactional id, and how that changes.

A `Transaction` is never changed, only replaced: each method here returns what the id is to be once the record that says
so is in the log. Epochs are what fences: a producer with another than the stored one is an earlier incarnation.

    version 0, 1    the epoch rises with each InitProducerId, and when a producer is fenced
    version 2       and with the end of each transaction, so that late batches of one can't get into the next

The last epoch that a producer is given is 32766: 32767 is for fencing it. After that the id is exhausted, and the
producer gets another one with epoch 0.

Kafka: TransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final, TypeAlias

from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.transactions.states import COMPLETED, TransactionState
from ottla.pacing import paced

TopicPartition: TypeAlias = tuple[str, int]

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_START: Final = -1
EPOCH_MAX: Final = 2**15 - 1

NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()
"""Python makes a new empty set each time, of 216 bytes."""

_ONGOING: Final = TransactionState.ONGOING
#: From this one on each end raises the epoch (KIP-890).
EPOCH_BUMPING_VERSION: Final = 2


def by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of the partitions, by the topic's name."""
    indexes: dict[str, list[int]] = {}
    for topic, index in paced(partitions):
        if topic in indexes:
            indexes[topic].append(index)
        else:
            indexes[topic] = [index]
    return indexes


def is_exhausted(producer_epoch: int) -> bool:
    """Whether no producer may get a higher epoch than this."""
    return producer_epoch >= EPOCH_MAX - 1


@frozen
class Transaction:
    """One transactional id, with its transaction if there is one."""

    transactional_id: str
    producer_id: int
    timeout_ms: int
    last_update_ms: int
    state: TransactionState = TransactionState.EMPTY
    producer_epoch: int = NO_EPOCH
    """-1: it was created just now."""
    last_producer_epoch: int = NO_EPOCH
    """The one before, which a producer may still have that has not heard of the last one. It is not in the log."""
    prev_producer_id: int = NO_PRODUCER_ID
    """What `producer_id` was before the last change, whatever that was."""
    next_producer_id: int = NO_PRODUCER_ID
    """What it is to be when the transaction is over; -1: the same."""
    start_ms: int = NO_START
    client_version: int = 0
    """By which version of the protocol its producer goes."""
    partitions: frozenset[TopicPartition] = NO_PARTITIONS
    """Those of the transaction that have no marker yet."""

    @property
    def is_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)

    @property
    def bumps_epochs(self) -> bool:
        return self.client_version >= EPOCH_BUMPING_VERSION

    def with_epoch(self, producer_epoch: int, last_producer_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Its producer has begun anew. Kafka: prepareIncrementProducerEpoch."""
        return self._initialized(
            self.producer_id, producer_epoch, last_producer_epoch, timeout_ms=timeout_ms, now_ms=now_ms
        )

    def with_producer_id(self, producer_id: int, last_producer_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Its producer has begun anew, under another id. Kafka: prepareProducerIdRotation."""
        return self._initialized(producer_id, 0, last_producer_epoch, timeout_ms=timeout_ms, now_ms=now_ms)

    def _initialized(
        self, producer_id: int, producer_epoch: int, last_producer_epoch: int, *, timeout_ms: int, now_ms: int
    ) -> Transaction:
        return replace(
            self,
            state=TransactionState.EMPTY,
            producer_id=producer_id,
            prev_producer_id=self.producer_id,
            producer_epoch=producer_epoch,
            last_producer_epoch=last_producer_epoch,
            timeout_ms=timeout_ms,
            partitions=NO_PARTITIONS,
            start_ms=NO_START,
            last_update_ms=now_ms,
        )

    # What every transaction goes through is put together field by field: `replace` takes six times as long.

    def with_partitions(self, partitions: frozenset[TopicPartition], client_version: int, now_ms: int) -> Transaction:
        """These are part of the transaction too, which begins if there is none. Kafka: prepareAddPartitions."""
        return Transaction(
            self.transactional_id,
            self.producer_id,
            self.timeout_ms,
            now_ms,
            _ONGOING,
            self.producer_epoch,
            self.last_producer_epoch,
            self.producer_id,
            self.next_producer_id,
            self.start_ms if self.state is _ONGOING else now_ms,
            client_version,
            self.partitions | partitions,
        )

    def prepared(self, state: TransactionState, client_version: int, next_producer_id: int, now_ms: int) -> Transaction:
        """It is decided. An abort of nothing has begun now. Kafka: prepareAbortOrCommit."""
        producer_epoch, last_producer_epoch = self.producer_epoch, self.last_producer_epoch
        if client_version >= EPOCH_BUMPING_VERSION:
            last_producer_epoch = producer_epoch
            producer_epoch = min(producer_epoch + 1, EPOCH_MAX)
        return Transaction(
            self.transactional_id,
            self.producer_id,
            self.timeout_ms,
            now_ms,
            state,
            producer_epoch,
            last_producer_epoch,
            self.producer_id,
            next_producer_id,
            self.start_ms if self.state is _ONGOING else now_ms,
            client_version,
            self.partitions,
        )

    def fenced(self, producer_epoch: int) -> Transaction:
        """No producer has this epoch; it is no record. Kafka: endTransactionWithTV1, of an epoch fence."""
        return replace(self, producer_epoch=producer_epoch, last_producer_epoch=NO_EPOCH)

    def without(self, partitions: frozenset[TopicPartition]) -> Transaction:
        """These have their markers; it is no record. Kafka: removePartition."""
        return Transaction(
            self.transactional_id,
            self.producer_id,
            self.timeout_ms,
            self.last_update_ms,
            self.state,
            self.producer_epoch,
            self.last_producer_epoch,
            self.prev_producer_id,
            self.next_producer_id,
            self.start_ms,
            self.client_version,
            NO_PARTITIONS if self.partitions is partitions else (self.partitions - partitions) or NO_PARTITIONS,
        )

    @property
    def next_producer(self) -> tuple[int, int]:
        """The producer id and epoch to go on with when it is over."""
        if self.bumps_epochs and self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def completed(self, now_ms: int) -> Transaction:
        """All markers are written. Kafka: prepareComplete."""
        producer_id, producer_epoch = self.next_producer
        return Transaction(
            self.transactional_id,
            producer_id,
            self.timeout_ms,
            now_ms,
            COMPLETED[self.state],
            producer_epoch,
            self.last_producer_epoch,
            self.producer_id,
            NO_PRODUCER_ID,
            self.start_ms,
            self.client_version,
        )

"""AddPartitionsToTxn (api key 24) and AddOffsetsToTxn (25): what a transaction writes to, and so what gets markers.

Clients say so before they write. From Produce v12 and TxnOffsetCommit v5 on they don't: the partition itself asks when
the first batch comes (KIP-890). Before, a partition only asks whether it was added, so that a batch that comes late
does not begin a transaction that no producer ends.

Kafka: TransactionCoordinator.handleAddPartitionsToTransaction, handleVerifyPartitionsInTransaction.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ottla.coordinator.runtime.effects import Reply
from ottla.coordinator.transactions.answers import all_partitions, each_partition
from ottla.coordinator.transactions.decisions import ADD_PARTITIONS, VERIFY_PARTITIONS, AddStep
from ottla.coordinator.transactions.situations import situate_producer
from ottla.coordinator.transactions.time import watch_timeout
from ottla.coordinator.transactions.writing import write
from ottla.events.kinds.transactions import TransactionEvents
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Effects
    from ottla.coordinator.transactions.events import AddPartitionsRequested, VerifyPartitionsRequested
    from ottla.coordinator.transactions.machine import Transactions


def add_partitions(transactions: Transactions, now_ms: int, event: AddPartitionsRequested, effects: Effects) -> None:
    """Add partitions to the transaction, which begins if there is none, or say why not."""
    transactional_id, partitions = event.transactional_id, event.partitions
    answer = partial(all_partitions, transactional_id, partitions)
    transaction = transactions.by_id.get(transactional_id)
    if transaction is None:
        effects.append(Reply(event.token, answer(ErrorCode.INVALID_PRODUCER_ID_MAPPING)))
        return
    situation = situate_producer(transaction, event.producer_id, event.producer_epoch, partitions)
    decided = ADD_PARTITIONS[transaction.state][situation]
    if isinstance(decided, ErrorCode):
        effects.append(Reply(event.token, answer(decided)))
        return
    changed = transaction.with_partitions(partitions, event.client_version, now_ms)
    happened = (
        TransactionEvents.TRANSACTION_BEGAN
        if decided is AddStep.BEGIN
        else TransactionEvents.TRANSACTION_PARTITIONS_ADDED
    )
    added = len(changed.partitions) - len(transaction.partitions)
    write(transactions, changed, effects, happened, token=event.token, answer=answer, partitions=added)
    watch_timeout(transactions, now_ms, changed, effects)


def verify_partitions(transactions: Transactions, event: VerifyPartitionsRequested, effects: Effects) -> None:
    """Say which of the partitions are part of the transaction."""
    transactional_id, partitions = event.transactional_id, event.partitions
    transaction = transactions.by_id.get(transactional_id)
    if transaction is None:
        refused = all_partitions(transactional_id, partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        effects.append(Reply(event.token, refused))
        return
    situation = situate_producer(transaction, event.producer_id, event.producer_epoch, partitions)
    decided = VERIFY_PARTITIONS[transaction.state][situation]
    if isinstance(decided, ErrorCode):
        effects.append(Reply(event.token, all_partitions(transactional_id, partitions, decided)))
        return
    there = transaction.partitions
    errors = {
        place: ErrorCode.NONE if place in there else ErrorCode.TRANSACTION_ABORTABLE for place in paced(partitions)
    }
    effects.append(Reply(event.token, each_partition(transactional_id, errors)))

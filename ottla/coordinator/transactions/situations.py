"""The senders of requests: what the producer id and the epoch in a request are to the transactional id it names.

What follows from it in which state stands in `decisions`. The checks come in Kafka's order, and the first that fits
counts. A producer that has not heard an answer asks again with what it had before: those are the situations of a retry.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ottla.coordinator.transactions.transaction import EPOCH_MAX, NO_EPOCH, is_exhausted

if TYPE_CHECKING:
    from ottla.coordinator.transactions.transaction import TopicPartition, Transaction


# ── InitProducerId ────────────────────────────────────────────────────────────────────────────────────────────────────


class InitSituation(Enum):
    """The sender of an InitProducerId."""

    STRANGER = "a producer id that is neither the stored one nor, with its last epoch, the previous one"
    NEW = "no producer id and epoch"
    NEW_EXHAUSTED = "no producer id and epoch; the stored epoch is the last one"
    CURRENT = "the stored producer, in its epoch"
    CURRENT_EXHAUSTED = "the stored producer, in its epoch; this epoch is the last one"
    RETRY = "the stored producer, in the previous epoch (it missed the answer)"
    OTHER_EPOCH = "the stored producer, in any other epoch"
    OTHER_EPOCH_EXHAUSTED = "the stored producer, in another epoch; the stored epoch is the last one"

    __hash__ = object.__hash__


def situate_init(transaction: Transaction, expected: tuple[int, int] | None) -> InitSituation:
    """The sender's situation. `expected`: the producer id and epoch it names. Kafka: prepareInitProducerIdTransit."""
    if expected is None:
        return InitSituation.NEW_EXHAUSTED if transaction.is_exhausted else InitSituation.NEW
    producer_id, producer_epoch = expected
    is_new = transaction.producer_epoch == NO_EPOCH
    is_former = producer_id == transaction.prev_producer_id and is_exhausted(producer_epoch)
    if not (is_new or producer_id == transaction.producer_id or is_former):
        return InitSituation.STRANGER
    if is_new or producer_epoch == transaction.producer_epoch:
        return InitSituation.CURRENT_EXHAUSTED if transaction.is_exhausted else InitSituation.CURRENT
    if transaction.is_exhausted:
        return InitSituation.OTHER_EPOCH_EXHAUSTED
    return InitSituation.RETRY if producer_epoch == transaction.last_producer_epoch else InitSituation.OTHER_EPOCH


# ── AddPartitionsToTxn, AddOffsetsToTxn, and what asks on behalf of Produce and TxnOffsetCommit ───────────────────────


class ProducerSituation(Enum):
    """The sender that adds partitions, or asks for them."""

    OTHER_PRODUCER = "another producer id"
    OTHER_EPOCH = "the stored producer, in another epoch"
    ALL_PRESENT = "the stored producer; all its partitions are in the transaction"
    CURRENT = "the stored producer; some partitions are not in the transaction"

    __hash__ = object.__hash__


def situate_producer(
    transaction: Transaction, producer_id: int, producer_epoch: int, partitions: frozenset[TopicPartition]
) -> ProducerSituation:
    """The sender's situation. Kafka: handleAddPartitionsToTransaction, handleVerifyPartitionsInTransaction."""
    if producer_id != transaction.producer_id:
        return ProducerSituation.OTHER_PRODUCER
    if producer_epoch != transaction.producer_epoch:
        return ProducerSituation.OTHER_EPOCH
    is_all_present = partitions <= transaction.partitions
    return ProducerSituation.ALL_PRESENT if is_all_present else ProducerSituation.CURRENT


# ── EndTxn ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class EndSituation(Enum):
    """The sender of an EndTxn, and how it is to end."""

    OTHER_PRODUCER = "another producer id"
    OTHER_EPOCH = "the stored producer, in another epoch"
    COMMIT = "the stored producer commits"
    ABORT = "the stored producer aborts"

    __hash__ = object.__hash__


def situate_end(transaction: Transaction, producer_id: int, producer_epoch: int, is_commit: bool) -> EndSituation:
    """The situation before v5. Kafka: endTransactionWithTV1."""
    if producer_id != transaction.producer_id:
        return EndSituation.OTHER_PRODUCER
    if producer_epoch != transaction.producer_epoch:
        return EndSituation.OTHER_EPOCH
    return EndSituation.COMMIT if is_commit else EndSituation.ABORT


class BumpingEndSituation(Enum):
    """The sender of an EndTxn, and how it is to end, from v5 on: then the epoch rises with it."""

    OTHER_PRODUCER = EndSituation.OTHER_PRODUCER.value
    OTHER_EPOCH = EndSituation.OTHER_EPOCH.value
    COMMIT = EndSituation.COMMIT.value
    ABORT = EndSituation.ABORT.value
    COMMIT_AGAIN = "the stored producer commits in the previous epoch (it missed the answer)"
    ABORT_AGAIN = "the stored producer aborts in the previous epoch (it missed the answer)"

    __hash__ = object.__hash__


def situate_bumping_end(
    transaction: Transaction, producer_id: int, producer_epoch: int, is_commit: bool
) -> BumpingEndSituation:
    """The situation from v5 on. Kafka: endTransaction."""
    stored = transaction.producer_epoch
    is_former = (producer_id, producer_epoch, stored) == (transaction.prev_producer_id, EPOCH_MAX - 1, 0)
    if producer_id != transaction.producer_id and not is_former:
        return BumpingEndSituation.OTHER_PRODUCER
    if is_former or stored == producer_epoch + 1:
        return BumpingEndSituation.COMMIT_AGAIN if is_commit else BumpingEndSituation.ABORT_AGAIN
    if producer_epoch != stored:
        return BumpingEndSituation.OTHER_EPOCH
    return BumpingEndSituation.COMMIT if is_commit else BumpingEndSituation.ABORT

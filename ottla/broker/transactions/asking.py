"""A partition asks the transaction's coordinator whether a batch belongs there, before the first one is appended.

    Produce v12+, TxnOffsetCommit v5+      the partition is added to the transaction by it (KIP-890)
    earlier versions                       it must have been added already

Kafka: AddPartitionsToTxnManager, ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.coordinator.transactions.answers import errors_of
from ottla.coordinator.transactions.events import AddPartitionsRequested, VerifyPartitionsRequested
from ottla.coordinator.transactions.transaction import EPOCH_BUMPING_VERSION
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.broker.transactions.coordination import TransactionCoordination
    from ottla.coordinator.transactions.transaction import TopicPartition
    from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse

#: What is answered: the partitions that may not be written to, and why.
Then: TypeAlias = "Callable[[dict[TopicPartition, ErrorCode]], None]"


class Asking(Enum):
    """What a request's version lets a partition ask."""

    VERIFY = "whether it was added; clients don't know TRANSACTION_ABORTABLE"
    VERIFY_ABORTABLE = "whether it was added"
    ADD = "to be added"


def of_produce(api_version: int) -> Asking:
    """Kafka: produceRequestVersionToTransactionSupportedOperation."""
    return Asking.ADD if api_version >= 12 else Asking.VERIFY_ABORTABLE if api_version >= 11 else Asking.VERIFY


def of_offset_commit(api_version: int) -> Asking:
    """Kafka: txnOffsetCommitRequestVersionToTransactionSupportedOperation."""
    return Asking.ADD if api_version >= 5 else Asking.VERIFY_ABORTABLE if api_version >= 4 else Asking.VERIFY


class _Answered:
    """Takes the coordinator's answer. It is the token of the request to it."""

    __slots__ = ("_asking", "_then")

    def __init__(self, asking: Asking, then: Then) -> None:
        self._asking = asking
        self._then = then

    def answer(self, result: AddPartitionsToTxnResponse.AddPartitionsToTxnResult, /) -> None:
        errors = errors_of(result)
        self._then({place: _as_known(error, self._asking) for place, error in paced(errors.items()) if error})


def _as_known(error: ErrorCode, asking: Asking) -> ErrorCode:
    """Producers know a fenced epoch by another name here. Kafka: AddPartitionsToTxnHandler.onComplete."""
    if error is ErrorCode.TRANSACTION_ABORTABLE and asking is Asking.VERIFY:
        return ErrorCode.INVALID_TXN_STATE
    return _OTHER_NAMES.get(error, error)


_OTHER_NAMES: Final = {ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH}


def ask(
    transactions: TransactionCoordination,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    places: Iterable[TopicPartition],
    asking: Asking,
    then: Then,
) -> None:
    """Ask for these partitions. `then` is called once, at once or in time."""
    partitions = frozenset(places)
    coordinator = transactions.coordinator_of(transactional_id)
    if coordinator is None:
        then(dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return
    token = _Answered(asking, then)
    if asking is Asking.ADD:
        coordinator.submit(
            AddPartitionsRequested(
                token, transactional_id, producer_id, producer_epoch, partitions, EPOCH_BUMPING_VERSION
            )
        )
    else:
        coordinator.submit(VerifyPartitionsRequested(token, transactional_id, producer_id, producer_epoch, partitions))

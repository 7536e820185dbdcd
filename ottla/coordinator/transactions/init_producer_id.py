"""InitProducerId (api key 22) with a transactional id: a producer begins, or begins again after an error (KIP-360).

It gets the id's producer id with an epoch that no producer has had, so one that wrote under the transactional id before
can't any more. If that one has left a transaction open, it is aborted first, and the producer is told to come again.

Kafka: TransactionCoordinator.handleInitProducerId.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ottla.coordinator.runtime.effects import Reply
from ottla.coordinator.runtime.records import is_writable
from ottla.coordinator.transactions.answers import init_answered, init_refused
from ottla.coordinator.transactions.decisions import INIT_PRODUCER_ID, InitStep, as_known
from ottla.coordinator.transactions.end import fence
from ottla.coordinator.transactions.notes import Cause
from ottla.coordinator.transactions.situations import situate_init
from ottla.coordinator.transactions.time import watch_expiry
from ottla.coordinator.transactions.transaction import NO_EPOCH, Transaction
from ottla.coordinator.transactions.writing import write
from ottla.events.kinds.transactions import TransactionEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Effects
    from ottla.coordinator.transactions.events import InitProducerIdRequested
    from ottla.coordinator.transactions.machine import Transactions
    from ottla.protocol.messages.init_producer_id import InitProducerIdResponse


def init_producer_id(transactions: Transactions, now_ms: int, event: InitProducerIdRequested, effects: Effects) -> None:
    """Give the producer its id and epoch, or say why not."""
    transaction = _find_or_create(transactions, now_ms, event, effects)
    if isinstance(transaction, ErrorCode):
        effects.append(Reply(event.token, init_refused(transaction)))
        return
    decided = INIT_PRODUCER_ID[transaction.state][situate_init(transaction, event.expected)]
    if isinstance(decided, ErrorCode):
        effects.append(Reply(event.token, init_refused(as_known(decided, "InitProducerId", event.api_version))))
    elif decided is InitStep.FENCE:
        answer = _told_to_come_again
        fence(transactions, now_ms, transaction, effects, Cause.FENCED, event.client_id, event.token, answer)
    else:
        _begin(transactions, now_ms, transaction, decided, event, effects)


def _find_or_create(
    transactions: Transactions, now_ms: int, event: InitProducerIdRequested, effects: Effects
) -> Transaction | ErrorCode:
    """What there is of the id. A new one stays, be its first record written or not, as with Kafka."""
    transaction = transactions.by_id.get(event.transactional_id)
    if transaction is not None:
        return transaction
    if not is_writable(event.transactional_id):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    producer_id = transactions.new_producer_id()
    if producer_id is None:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    transaction = Transaction(event.transactional_id, producer_id, event.timeout_ms, now_ms)
    transactions.put(transaction)
    watch_expiry(transactions, now_ms, effects)
    return transaction


def _begin(
    transactions: Transactions,
    now_ms: int,
    transaction: Transaction,
    decided: InitStep,
    event: InitProducerIdRequested,
    effects: Effects,
) -> None:
    stored = transaction.producer_epoch
    last_producer_epoch = NO_EPOCH if event.expected is None else stored
    if decided is InitStep.CHANGE_PRODUCER_ID:
        producer_id = transactions.new_producer_id()
        if producer_id is None:
            effects.append(Reply(event.token, init_refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))
            return
        begun = transaction.with_producer_id(producer_id, last_producer_epoch, event.timeout_ms, now_ms)
    elif decided is InitStep.REPEAT:
        begun = transaction.with_epoch(stored, transaction.last_producer_epoch, event.timeout_ms, now_ms)
    else:
        begun = transaction.with_epoch(stored + 1, last_producer_epoch, event.timeout_ms, now_ms)
    write(
        transactions,
        begun,
        effects,
        TransactionEvents.TRANSACTION_PRODUCER_INITIALIZED,
        token=event.token,
        answer=partial(_answered, begun),
        client_id=event.client_id,
    )


def _answered(begun: Transaction, error: ErrorCode) -> InitProducerIdResponse:
    return init_answered(begun) if error is ErrorCode.NONE else init_refused(error)


def _told_to_come_again(error: ErrorCode) -> InitProducerIdResponse:
    """The transaction that was open is being aborted; when that is done the producer gets its epoch."""
    return init_refused(ErrorCode.CONCURRENT_TRANSACTIONS if error is ErrorCode.NONE else error)

"""EndTxn (api key 26): commit or abort; and how a transaction ends that its producer does not end.

It is answered when the decision is in the log. Markers follow, and before they are all written the id takes no other
request. From v5 on the epoch rises with it, and the answer has the producer id and epoch to go on with (KIP-890).

A producer that is *fenced* (its time is up, or another one has begun) has its transaction aborted in an epoch higher
than its own. If that can't be written down the epoch is not raised again the next time: no producer knows it.

Kafka: TransactionCoordinator.endTransaction, endTransactionWithTV1, TransactionMetadata.prepareFenceProducerEpoch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.coordinator.runtime.effects import Reply
from ottla.coordinator.transactions.answers import end_answered
from ottla.coordinator.transactions.decisions import BUMPING_END, END, EndStep, as_known
from ottla.coordinator.transactions.notes import Cause, note
from ottla.coordinator.transactions.situations import situate_bumping_end, situate_end
from ottla.coordinator.transactions.states import TransactionState
from ottla.coordinator.transactions.transaction import EPOCH_BUMPING_VERSION, EPOCH_MAX, NO_EPOCH, NO_PRODUCER_ID
from ottla.coordinator.transactions.writing import write
from ottla.events.kinds.transactions import TransactionEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Effects, Token
    from ottla.coordinator.transactions.events import EndTxnRequested
    from ottla.coordinator.transactions.machine import Transactions
    from ottla.coordinator.transactions.transaction import Transaction
    from ottla.coordinator.transactions.writing import Answer
    from ottla.protocol.messages.end_txn import EndTxnResponse

#: From this version on clients raise their epoch with each end.
_BUMPING_FROM: Final = 5


def end_transaction(transactions: Transactions, now_ms: int, event: EndTxnRequested, effects: Effects) -> None:
    """Commit or abort, or say why not."""
    transaction = transactions.by_id.get(event.transactional_id)
    if transaction is None:
        effects.append(Reply(event.token, end_answered(ErrorCode.INVALID_PRODUCER_ID_MAPPING)))
        return
    decided = _decide(transaction, event)
    if isinstance(decided, ErrorCode):
        effects.append(Reply(event.token, end_answered(as_known(decided, "EndTxn", event.api_version))))
    elif decided is EndStep.REPEAT:
        answer = end_answered(ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch)
        effects.append(Reply(event.token, answer))
    else:
        _end(transactions, now_ms, transaction, decided, event, effects)


def _decide(transaction: Transaction, event: EndTxnRequested) -> ErrorCode | EndStep:
    request = event.request
    sender = transaction, request.producer_id, request.producer_epoch, request.committed
    if event.api_version >= _BUMPING_FROM:
        return BUMPING_END[transaction.state][situate_bumping_end(*sender)]
    return END[transaction.state][situate_end(*sender)]


def _end(
    transactions: Transactions,
    now_ms: int,
    transaction: Transaction,
    decided: EndStep,
    event: EndTxnRequested,
    effects: Effects,
) -> None:
    state = TransactionState.PREPARE_COMMIT if decided is EndStep.COMMIT else TransactionState.PREPARE_ABORT
    version = EPOCH_BUMPING_VERSION if event.api_version >= _BUMPING_FROM else 0
    prepared = _prepared(transactions, now_ms, transaction, state, version)
    if isinstance(prepared, ErrorCode):
        effects.append(Reply(event.token, end_answered(prepared)))
        return
    write(
        transactions,
        prepared,
        effects,
        TransactionEvents.TRANSACTION_PREPARED,
        token=event.token,
        answer=partial(_ended, prepared.next_producer if version else _AS_BEFORE),
        result=_RESULTS[state],
        cause=Cause.REQUESTED,
        partitions=len(prepared.partitions),
    )


#: The producer goes on with the id and epoch that it has.
_AS_BEFORE: Final = NO_PRODUCER_ID, NO_EPOCH
_RESULTS: Final = {TransactionState.PREPARE_COMMIT: "commit", TransactionState.PREPARE_ABORT: "abort"}


def _prepared(
    transactions: Transactions, now_ms: int, transaction: Transaction, state: TransactionState, version: int
) -> Transaction | ErrorCode:
    """The transaction when it is decided. With its last epoch it gets another producer id for the time after."""
    next_producer_id: int | None = NO_PRODUCER_ID
    if version >= EPOCH_BUMPING_VERSION:
        if transaction.producer_epoch == EPOCH_MAX and state is TransactionState.PREPARE_COMMIT:
            return ErrorCode.UNKNOWN_SERVER_ERROR  # no producer has that epoch; an exception there
        if transaction.is_exhausted:
            next_producer_id = transactions.new_producer_id()
    if next_producer_id is None:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return transaction.prepared(state, version, next_producer_id, now_ms)


def _ended(next_producer: tuple[int, int], error: ErrorCode) -> EndTxnResponse:
    return end_answered(error, *(_AS_BEFORE if error else next_producer))


def fence(
    transactions: Transactions,
    now_ms: int,
    transaction: Transaction,
    effects: Effects,
    cause: Cause,
    client_id: str = "",
    token: Token | None = None,
    answer: Answer | None = None,
) -> None:
    """Abort an open transaction and fence its producer. `client_id`: of one that has begun; `token`: is answered."""
    transactional_id = transaction.transactional_id
    version = transactions.config.transaction_version
    bumps = version >= EPOCH_BUMPING_VERSION
    if not bumps:
        has_raised = transactional_id in transactions.failed_fences
        epoch = transaction.producer_epoch + (0 if has_raised else 1)
        transaction = transaction.fenced(min(epoch, EPOCH_MAX))
        transactions.put(transaction)
    prepared = _prepared(
        transactions, now_ms, transaction, TransactionState.PREPARE_ABORT, EPOCH_BUMPING_VERSION if bumps else 0
    )
    if isinstance(prepared, ErrorCode):
        if token is not None and answer is not None:
            effects.append(Reply(token, answer(prepared)))
        return
    note(
        transactions, prepared, effects, TransactionEvents.TRANSACTION_PRODUCER_FENCED, cause=cause, client_id=client_id
    )
    write(
        transactions,
        prepared,
        effects,
        TransactionEvents.TRANSACTION_PREPARED,
        token=token,
        answer=answer,
        is_fence=not bumps,
        result="abort",
        cause=cause,
        partitions=len(prepared.partitions),
    )

"""A transactional id changes when the record that says so is in the log, and only then is its client answered.

The record's change is applied by `replay`, here as when the log is read back. What is decided is then carried out:
markers are asked for, and when all of them are written that goes into the log too. The client is answered before, as
soon as it is decided.

Kafka: TransactionStateManager.appendTransactionToLog, TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.coordinator.runtime.effects import Append, Arm, Completion, Effects, Reply, Token
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.transactions.machine import AT_ONCE, COMPLETION_RETRY_MS_MIN, WriteMarkers
from ottla.coordinator.transactions.notes import note
from ottla.coordinator.transactions.records import transaction_record
from ottla.coordinator.transactions.states import PREPARED, TransactionState
from ottla.coordinator.transactions.transaction import Transaction
from ottla.coordinator.write_errors import TRANSACTION_WRITE_ERRORS
from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.transactions import TransactionEvents
from ottla.pacing import paced_each
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.coordinator.transactions.events import MarkersWritten
    from ottla.coordinator.transactions.machine import Transactions

DECISION_TIMER: Final = "decisions"
COMPLETION_TIMER: Final = "completions"
_COMPLETION_RETRY_MS_MAX: Final = 1_600

#: What is answered, by the error; NONE: it is written.
Answer: TypeAlias = Callable[[ErrorCode], Message]


@frozen
class TransactionWritten(Completion):
    """The record of a transactional id is in the log."""

    transaction: Transaction
    """What the id is then."""
    token: Token | None
    """The sender of the request for it, if there was one."""
    answer: Answer | None
    happened: EventKind
    details: dict[str, object]
    is_fence: bool = False
    """Whether the epoch was raised for it, to one that no producer knows."""


def write(
    transactions: Transactions,
    transaction: Transaction,
    effects: Effects,
    happened: EventKind,
    *,
    token: Token | None = None,
    answer: Answer | None = None,
    is_fence: bool = False,
    **details: object,
) -> None:
    """Let the id be this once it is in the log; then `token` is answered with what `answer` makes of the error."""
    record = transaction_record(transaction, transactions.config.transaction_version)
    completion = TransactionWritten(transaction, token, answer, happened, details, is_fence)
    effects.append(Append([record], completion, None, (transaction,)))


def written(
    transactions: Transactions, now_ms: int, completion: TransactionWritten, error: ErrorCode, effects: Effects
) -> None:
    """It is in the log; or it is not, and nothing has changed."""
    transaction = completion.transaction
    answered = error and TRANSACTION_WRITE_ERRORS.get(error, error)
    if error is NONE:
        transactions.failed_fences.discard(transaction.transactional_id)
        note(transactions, transaction, effects, completion.happened, **completion.details)
    else:
        note(transactions, transaction, effects, TransactionEvents.TRANSACTION_WRITE_FAILED, error=answered.name)
        if completion.is_fence:
            transactions.failed_fences.add(transaction.transactional_id)
    if completion.token is not None and completion.answer is not None:
        effects.append(Reply(completion.token, completion.answer(answered)))
    if error is NONE and transaction.state in PREPARED:
        carry_out(transactions, now_ms, transaction, effects)


def carry_out(transactions: Transactions, now_ms: int, transaction: Transaction, effects: Effects) -> None:
    """It is decided: have the markers written that are missing."""
    if not transaction.partitions:
        _complete(transactions, now_ms, transaction, effects)
        return
    effects.append(
        WriteMarkers(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
            transactions.coordinator_epoch,
            transaction.state is TransactionState.PREPARE_COMMIT,
            transaction.client_version,
            transaction.partitions,
        )
    )


def resume(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """What was decided by a coordinator before is still to be carried out."""
    transactions.resumed = list(reversed(transactions.decided))
    if transactions.resumed:
        effects.append(Arm(DECISION_TIMER, now_ms))


def carry_out_decided(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """Carry that out, a few at once.

    A coordinator that is read anew in the same epoch may be told of markers that the one before has asked for.
    """
    for _ in paced_each(range(min(AT_ONCE, len(transactions.resumed)))):
        transactional_id = transactions.resumed.pop()
        if transactional_id in transactions.decided:
            carry_out(transactions, now_ms, transactions.by_id[transactional_id], effects)
    if transactions.resumed:
        effects.append(Arm(DECISION_TIMER, now_ms))


def markers_written(transactions: Transactions, now_ms: int, event: MarkersWritten, effects: Effects) -> None:
    """Some partitions have their marker. When all have, the transaction is complete."""
    transaction = transactions.by_id.get(event.transactional_id)
    if transaction is None or transaction.state not in PREPARED or not transaction.partitions:
        return
    if (event.producer_id, event.producer_epoch) != (transaction.producer_id, transaction.producer_epoch):
        return  # they are of a transaction before
    left = transaction.without(event.partitions)
    transactions.put(left)
    if not left.partitions:
        _complete(transactions, now_ms, left, effects)


@frozen
class CompletionWritten(Completion):
    """That a transaction is complete is in the log."""

    transaction: Transaction


def _complete(transactions: Transactions, now_ms: int, transaction: Transaction, effects: Effects) -> None:
    completed = transaction.completed(now_ms)
    record = transaction_record(completed, transactions.config.transaction_version)
    effects.append(Append([record], CompletionWritten(completed), None, (completed,)))


def completion_written(
    transactions: Transactions, now_ms: int, completion: CompletionWritten, error: ErrorCode, effects: Effects
) -> None:
    """It is over; or that can't be written down now, and is tried again in a moment."""
    transaction = completion.transaction
    if error is not NONE:
        answered = TRANSACTION_WRITE_ERRORS.get(error, error)
        note(transactions, transaction, effects, TransactionEvents.TRANSACTION_WRITE_FAILED, error=answered.name)
        transactions.unwritten.setdefault(transaction.transactional_id)
        effects.append(Arm(COMPLETION_TIMER, now_ms + transactions.completion_retry_ms))
        return
    transactions.unwritten.pop(transaction.transactional_id, None)
    if not transactions.unwritten:
        transactions.completion_retry_ms = COMPLETION_RETRY_MS_MIN
    is_commit = transaction.state is TransactionState.COMPLETE_COMMIT
    happened = TransactionEvents.TRANSACTION_COMMITTED if is_commit else TransactionEvents.TRANSACTION_ABORTED
    note(transactions, transaction, effects, happened, duration_ms=now_ms - transaction.start_ms)


def complete_soon(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """Don't wait any longer with the next try."""
    transactions.completion_retry_ms = COMPLETION_RETRY_MS_MIN
    if transactions.unwritten:
        effects.append(Arm(COMPLETION_TIMER, now_ms))


def complete_unwritten(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """Try again to write down what is complete."""
    transactions.completion_retry_ms = min(2 * transactions.completion_retry_ms, _COMPLETION_RETRY_MS_MAX)
    for transactional_id in paced_each(transactions.unwritten):
        _complete(transactions, now_ms, transactions.by_id[transactional_id], effects)

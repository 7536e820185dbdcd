"""What time does: it ends transactions that are open for too long, and forgets ids that are not used.

Both are looked for at intervals since the node began, and only where there is something to find. How long a transaction
is open counts from its first partition, however busy it is since.

Kafka: TransactionCoordinator.abortTimedOutTransactions, TransactionStateManager.timedOutTransactions,
removeExpiredTransactionalIds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.runtime.effects import Append, Arm, Completion
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.transactions.end import fence
from ottla.coordinator.transactions.machine import AT_ONCE, Removed
from ottla.coordinator.transactions.notes import Cause, note
from ottla.coordinator.transactions.records import transaction_tombstone
from ottla.coordinator.transactions.states import IDLE
from ottla.coordinator.transactions.transaction import Transaction
from ottla.events.kinds.transactions import TransactionEvents
from ottla.pacing import paced, paced_each
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Effects
    from ottla.coordinator.transactions.machine import Transactions

TIMEOUT_TIMER: Final = "timeouts"
EXPIRY_TIMER: Final = "expiry"

# ── Transactions that are open for too long ───────────────────────────────────────────────────────────────────────────


def watch_timeout(transactions: Transactions, now_ms: int, transaction: Transaction, effects: Effects) -> None:
    """See to it that the transaction does not stay open for ever."""
    _look_for_timeouts(transactions, now_ms, _deadline_ms(transaction), effects)


def abort_timed_out(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """Abort those that are open for too long, a few at once, and look again when the next one may be."""
    transactions.timeout_deadline_ms = None
    if not transactions.timed_out:
        transactions.timed_out = timed_out(transactions, now_ms)
        transactions.timed_out.reverse()
    for _ in paced_each(range(min(AT_ONCE, len(transactions.timed_out)))):
        transactional_id = transactions.timed_out.pop()
        if transactional_id not in transactions.open:
            continue  # it is over, and the id may have expired since
        transaction = transactions.by_id[transactional_id]
        if _deadline_ms(transaction) <= now_ms:
            fence(transactions, now_ms, transaction, effects, Cause.TIMEOUT)
    if transactions.timed_out:
        transactions.timeout_deadline_ms = now_ms
        effects.append(Arm(TIMEOUT_TIMER, now_ms))
    elif transactions.open:  # those that are aborted now are among them: one that can't be is tried again
        first_ms = min(_deadline_ms(transactions.by_id[name]) for name in paced(transactions.open))
        _look_for_timeouts(transactions, now_ms, first_ms, effects)


def timed_out(transactions: Transactions, now_ms: int) -> list[str]:
    """The ids whose transactions are open for too long, the oldest transaction first."""
    of_open = map(transactions.by_id.__getitem__, paced(transactions.open))
    return [transaction.transactional_id for transaction in of_open if _deadline_ms(transaction) <= now_ms]


def _deadline_ms(transaction: Transaction) -> int:
    """When it is open for too long. Kafka: timedOutTransactions."""
    return transaction.start_ms + transaction.timeout_ms + 1


def _look_for_timeouts(transactions: Transactions, now_ms: int, at_ms: int, effects: Effects) -> None:
    deadline_ms = _next_look(transactions, now_ms, at_ms, transactions.config.abort_timed_out_interval_ms)
    if transactions.timeout_deadline_ms is None or deadline_ms < transactions.timeout_deadline_ms:
        transactions.timeout_deadline_ms = deadline_ms
        effects.append(Arm(TIMEOUT_TIMER, deadline_ms))


def _next_look(transactions: Transactions, now_ms: int, at_ms: int, interval_ms: int) -> int:
    """The first end of an interval that is still to come and not before this. A virtual date may have been put back."""
    intervals = -(-(max(at_ms, now_ms + 1) - transactions.began_ms) // interval_ms)
    return transactions.began_ms + intervals * interval_ms


# ── Ids that are not used ─────────────────────────────────────────────────────────────────────────────────────────────


@frozen
class TombstonesWritten(Completion):
    """These ids are deleted in the log."""

    expired: list[Transaction]


def watch_expiry(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """See to it that ids expire, unless the timer runs already."""
    if transactions.expiry_deadline_ms is not None or not transactions.by_id:
        return
    config = transactions.config
    idle_since_ms = next((t.last_update_ms for t in transactions.by_id.values() if t.state in IDLE), now_ms)
    at_ms = idle_since_ms + config.transactional_id_expiration_ms
    transactions.expiry_deadline_ms = _next_look(transactions, now_ms, at_ms, config.remove_expired_interval_ms)
    effects.append(Arm(EXPIRY_TIMER, transactions.expiry_deadline_ms))


def remove_expired(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """Delete ids that have not been used for too long, a few at once. They stand first, among some that are open."""
    transactions.expiry_deadline_ms = None
    expired: list[Transaction] = []
    idle_since_ms = now_ms - transactions.config.transactional_id_expiration_ms
    for transaction in transactions.by_id.values():
        if transaction.last_update_ms > idle_since_ms or len(expired) == AT_ONCE:
            break
        if transaction.state in IDLE:
            expired.append(transaction)
    if expired:
        tombstones = [transaction_tombstone(transaction.transactional_id) for transaction in expired]
        changes = [Removed(transaction.transactional_id) for transaction in expired]
        effects.append(Append(tombstones, TombstonesWritten(expired), None, changes))
    else:
        watch_expiry(transactions, now_ms, effects)


def tombstones_written(
    transactions: Transactions, now_ms: int, written: TombstonesWritten, error: ErrorCode, effects: Effects
) -> None:
    """They are gone, and there may be more; or that can't be written down, and the next look finds them again."""
    for transaction in written.expired:
        if error is ErrorCode.NONE:
            transactions.failed_fences.discard(transaction.transactional_id)
            note(transactions, transaction, effects, TransactionEvents.TRANSACTION_ID_EXPIRED)
        else:
            note(transactions, transaction, effects, TransactionEvents.TRANSACTION_WRITE_FAILED, error=error.name)
    if error is ErrorCode.NONE and len(written.expired) == AT_ONCE:
        transactions.expiry_deadline_ms = now_ms
        effects.append(Arm(EXPIRY_TIMER, now_ms))
    else:
        watch_expiry(transactions, now_ms, effects)

"""One event in, effects out.

    effects = step(transactions, now_ms, event)

`step` changes the machine and returns what is to be done, in order. It never waits, reads no clock, does no I/O, and
raises for nothing that a client can send. `now_ms` is the date: deadlines in effects are instants of the same clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.runtime.effects import Ended, Reply
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired, Unloaded
from ottla.coordinator.runtime.kind import Kind, StepFailed
from ottla.coordinator.transactions import events
from ottla.coordinator.transactions.answers import describe_refused, described
from ottla.coordinator.transactions.end import end_transaction
from ottla.coordinator.transactions.init_producer_id import init_producer_id
from ottla.coordinator.transactions.machine import replay
from ottla.coordinator.transactions.partitions import add_partitions, verify_partitions
from ottla.coordinator.transactions.time import (
    EXPIRY_TIMER,
    TIMEOUT_TIMER,
    TombstonesWritten,
    abort_timed_out,
    remove_expired,
    tombstones_written,
    watch_expiry,
    watch_timeout,
)
from ottla.coordinator.transactions.writing import (
    COMPLETION_TIMER,
    DECISION_TIMER,
    CompletionWritten,
    TransactionWritten,
    carry_out_decided,
    complete_soon,
    complete_unwritten,
    completion_written,
    markers_written,
    resume,
    written,
)
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ottla.coordinator.runtime.effects import Completion, Effects
    from ottla.coordinator.transactions.machine import Transactions

#: What the timers of all partitions wait in.
PURGATORY: Final = "Transactions"


def step(transactions: Transactions, now_ms: int, event: events.Event) -> Effects:
    """Apply one event. Raises `StepFailed`, from what was raised, and the machine is not to be trusted any more."""
    effects: Effects = []
    try:
        _EVENTS[event.__class__](transactions, now_ms, event, effects)
    except Exception as error:
        raise StepFailed(effects) from error
    return effects


def _describe(transactions: Transactions, event: events.DescribeRequested, effects: Effects) -> None:
    transaction = transactions.by_id.get(event.transactional_id)
    if transaction is None:
        response = describe_refused(event.transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    else:
        response = described(transaction)
    effects.append(Reply(event.token, response))


def _load(transactions: Transactions, now_ms: int, effects: Effects) -> None:
    """Go on where the coordinator before has stopped."""
    resume(transactions, now_ms, effects)
    for transactional_id in transactions.open:
        watch_timeout(transactions, now_ms, transactions.by_id[transactional_id], effects)
    watch_expiry(transactions, now_ms, effects)


def _timer_expired(transactions: Transactions, now_ms: int, event: TimerExpired, effects: Effects) -> None:
    _TIMERS[event.timer_key](transactions, now_ms, effects)


def _append_completed(transactions: Transactions, now_ms: int, event: AppendCompleted, effects: Effects) -> None:
    completion = event.completion
    _COMPLETIONS[completion.__class__](transactions, now_ms, completion, event.error, effects)


_TIMERS: Final[Mapping[str, Callable[[Transactions, int, Effects], None]]] = {
    TIMEOUT_TIMER: abort_timed_out,
    EXPIRY_TIMER: remove_expired,
    COMPLETION_TIMER: complete_unwritten,
    DECISION_TIMER: carry_out_decided,
}

#: What each timer is of. All transactional ids of a partition share each of them.
TIMER_KINDS: Final[Mapping[str, str]] = {
    TIMEOUT_TIMER: "transaction-timeout",
    EXPIRY_TIMER: "transactional-id-expiration",
    COMPLETION_TIMER: "transaction-completion",
    DECISION_TIMER: "transaction-decision",
}

#: What an event does: (transactions, now_ms, event, effects).
_EVENTS: Final[Mapping[type, Callable[[Transactions, int, Any, Effects], object]]] = {
    events.AddPartitionsRequested: add_partitions,
    events.VerifyPartitionsRequested: lambda transactions, _now_ms, event, effects: verify_partitions(
        transactions, event, effects
    ),
    events.EndTxnRequested: end_transaction,
    events.InitProducerIdRequested: init_producer_id,
    events.DescribeRequested: lambda transactions, _now_ms, event, effects: _describe(transactions, event, effects),
    events.MarkersWritten: markers_written,
    events.LogMayBeWritable: lambda transactions, now_ms, _event, effects: complete_soon(transactions, now_ms, effects),
    TimerExpired: _timer_expired,
    AppendCompleted: _append_completed,
    Loaded: lambda transactions, now_ms, _event, effects: _load(transactions, now_ms, effects),
    Unloaded: lambda _transactions, _now_ms, _event, effects: effects.append(Ended()),
}

#: What a completed append does: (transactions, now_ms, completion, error, effects).
_COMPLETIONS: Final[Mapping[type[Completion], Callable[[Transactions, int, Any, ErrorCode, Effects], None]]] = {
    TransactionWritten: written,
    CompletionWritten: completion_written,
    TombstonesWritten: tombstones_written,
}

#: What the runtime has to know of the transactions of a partition.
TRANSACTIONS: Final[Kind[Transactions]] = Kind(
    "transactions",
    step,
    lambda _timer_key: PURGATORY,
    tuple(TIMER_KINDS.values()),
    lambda timer_key: (TIMER_KINDS[timer_key], None),
    replay,
    has_long_timers=True,
)

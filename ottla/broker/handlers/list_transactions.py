"""ListTransactions (api key 66), v0–v2: the transactional ids that this node coordinates (KIP-664).

Filters by state and by producer id; v1 adds one for how long a transaction is open (KIP-994). An id without a
transaction counts as open since 1970. Ids that the client may not describe are left out. A state that there is none of
is named in the answer, and nothing is in it. v2 adds a pattern in RE2's syntax, which all of the id has to fit
(KIP-1152); empty or null: any id.

Errors: COORDINATOR_LOAD_IN_PROGRESS, INVALID_REGULAR_EXPRESSION, and then no ids.
Kafka: TransactionStateManager.listTransactionStates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.coordinator.transactions.states import NEVER_SEEN, TransactionState
from ottla.coordinator.transactions.transaction import Transaction
from ottla.pacing import paced_each
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from ottla.security.authorizer import AclOperation, AclResourceType

if TYPE_CHECKING:
    from ottla.text.pattern import Pattern

_KNOWN = frozenset(state.value for state in TransactionState) | NEVER_SEEN


def handle(request: ListTransactionsRequest, call: Call) -> ListTransactionsResponse:
    coordinator = call.node.transaction_coordinator
    if coordinator.is_any_loading:
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    pattern = _pattern(request)
    if isinstance(pattern, ErrorCode):
        return refuse(request, pattern)
    now_ms = call.node.clock.wall_ms()
    states, producer_ids = frozenset(request.state_filters), frozenset(request.producer_id_filters)

    def is_wanted(transaction: Transaction) -> bool:
        return (
            (not producer_ids or transaction.producer_id in producer_ids)
            and (not states or transaction.state.value in states)
            and (request.duration_filter < 0 or now_ms - transaction.start_ms > request.duration_filter)
            and allows(call, AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, transaction.transactional_id)
            and (pattern is None or pattern.matches(transaction.transactional_id))
        )

    return ListTransactionsResponse(
        error_code=ErrorCode.NONE,
        unknown_state_filters=[name for name in dict.fromkeys(request.state_filters) if name not in _KNOWN],
        transaction_states=[
            ListTransactionsResponse.TransactionState(
                transaction.transactional_id, transaction.producer_id, transaction.state.value
            )
            for transaction in paced_each(coordinator)
            if is_wanted(transaction)
        ],
    )


def _pattern(request: ListTransactionsRequest) -> Pattern | ErrorCode | None:
    """What ids have to fit. None: all do."""
    if not request.transactional_id_pattern:
        return None
    from ottla.text.pattern import Pattern, PatternError

    try:
        return Pattern(request.transactional_id_pattern)
    except PatternError:
        return ErrorCode.INVALID_REGULAR_EXPRESSION


def refuse(_request: ListTransactionsRequest, error_code: int) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error_code)

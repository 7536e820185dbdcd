"""DescribeTransactions (api key 65), v0: what the coordinator knows of transactional ids (KIP-664).

Of each: its state, its timeout, since when its transaction is open (-1: none), producer id and epoch, and the
partitions that have no marker yet.

Errors, for each id: INVALID_REQUEST for an empty one, TRANSACTIONAL_ID_NOT_FOUND, NOT_COORDINATOR,
COORDINATOR_LOAD_IN_PROGRESS. Kafka: TransactionCoordinator.handleDescribeTransactions.
"""

from __future__ import annotations

from ottla.broker.groups.gather import Gather
from ottla.broker.network.call import Call
from ottla.coordinator.transactions.events import DescribeRequested
from ottla.pacing import paced
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse


def handle(request: DescribeTransactionsRequest, call: Call) -> None:
    asked = list(dict.fromkeys(request.transactional_ids))  # who asks for one many times is told the same many times

    def all_together(
        states: list[DescribeTransactionsResponse.TransactionState],
    ) -> DescribeTransactionsResponse:
        described = dict(zip(asked, states, strict=True))
        return DescribeTransactionsResponse(transaction_states=[described[name] for name in request.transactional_ids])

    gather = Gather(len(asked), call, all_together)
    for index, transactional_id in enumerate(paced(asked)):
        call.node.transaction_coordinator.submit(
            DescribeRequested(gather.token(index), transactional_id), is_long=not call.is_brief
        )


def refuse(request: DescribeTransactionsRequest, error_code: int) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            DescribeTransactionsResponse.TransactionState(error_code, name) for name in paced(request.transactional_ids)
        ]
    )

"""DescribeTransactions (api key 65), v0: what the coordinator knows of transactional ids (KIP-664).

Of each: its state, its timeout, since when its transaction is open (-1: none), producer id and epoch, and the
partitions that have no marker yet, of those topics that the client may describe.

Errors, for each id: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, INVALID_REQUEST for an empty one,
TRANSACTIONAL_ID_NOT_FOUND, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
Kafka: KafkaApis.handleDescribeTransactionsRequest, TransactionCoordinator.handleDescribeTransactions.
"""

from __future__ import annotations

from ottla.broker.groups.gather import Gather
from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.coordinator.transactions.answers import describe_refused
from ottla.coordinator.transactions.events import DescribeRequested
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from ottla.security.authorizer import AclOperation, AclResourceType


def handle(request: DescribeTransactionsRequest, call: Call) -> None:
    asked = list(dict.fromkeys(request.transactional_ids))  # who asks for one many times is told the same many times

    def all_together(
        states: list[DescribeTransactionsResponse.TransactionState],
    ) -> DescribeTransactionsResponse:
        for state in paced(states):
            state.topics = [
                topic
                for topic in paced(state.topics)
                if allows(call, AclOperation.DESCRIBE, AclResourceType.TOPIC, topic.topic)
            ]
        described = dict(zip(asked, states, strict=True))
        return DescribeTransactionsResponse(transaction_states=[described[name] for name in request.transactional_ids])

    gather = Gather(len(asked), call, all_together)
    for index, transactional_id in enumerate(paced(asked)):
        token = gather.token(index)
        if allows(call, AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
            described = DescribeRequested(token, transactional_id)
            call.node.transaction_coordinator.submit(described, is_long=not call.is_brief)
        else:
            token.answer(describe_refused(transactional_id, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))


def refuse(request: DescribeTransactionsRequest, error_code: int) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            DescribeTransactionsResponse.TransactionState(error_code, name) for name in paced(request.transactional_ids)
        ]
    )

"""EndTxn (api key 26), v0–v5: a producer commits or aborts its transaction.

It is answered as soon as that is decided; what it means for each version is in `coordinator/transactions/end.py`.

v2 allows PRODUCER_FENCED, v3 is flexible, v4 allows TRANSACTION_ABORTABLE, v5 raises the epoch and answers the producer
id and epoch to go on with (KIP-890).

Errors: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, those of the tables in docs/transactions.md, and of the coordinator
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
Kafka: KafkaApis.handleEndTxnRequest.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.coordinator.transactions.events import EndTxnRequested
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse


def handle(request: EndTxnRequest, call: Call) -> EndTxnResponse | None:
    call.node.transaction_coordinator.submit(EndTxnRequested(call, request, call.api_version))
    return None


def refuse(_request: EndTxnRequest, error_code: int) -> EndTxnResponse:
    return EndTxnResponse(error_code=error_code)

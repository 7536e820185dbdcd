"""InitProducerId (api key 22), v0–v5: an id for an idempotent producer, epoch 0.

Today's producers are idempotent unless told otherwise, so nearly all of them ask. What an id was before is of no
interest: whoever asks without a transactional id gets a fresh one.

Transactions are not served. Whoever brings a transactional id is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
which every client takes as final and reports at once by a name that points at the transactional id; with anything
milder some of them try again until a timeout. See docs/differences.md.

v2 is flexible, v3 adds producer_id and producer_epoch to the request (KIP-360), v4 and v5 only allow new errors. v6
(KIP-939) is not served, as Kafka does not advertise it.

Errors: INVALID_REQUEST for an empty transactional id, or a producer id without an epoch or the reverse;
INVALID_TRANSACTION_TIMEOUT for one that is not from 1 to transaction.max.timeout.ms.
Kafka: KafkaApis.handleInitProducerIdRequest, TransactionCoordinator.handleInitProducerId.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.cluster.refused import Refused
from ottla.events.kind import Kind
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


def handle(request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse:
    if (request.producer_id == -1) != (request.producer_epoch == -1) or request.transactional_id == "":
        return refuse(request, ErrorCode.INVALID_REQUEST)
    if request.transactional_id is None:
        try:
            return InitProducerIdResponse(producer_id=call.node.cluster.new_producer_id(), producer_epoch=0)
        except Refused:
            # Kafka: the block of ids does not come from the controller.
            return refuse(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if not 0 < request.transaction_timeout_ms <= call.node.settings["transaction.max.timeout.ms"]:
        return refuse(request, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    call.node.events.tell(
        Kind.TRANSACTION_REFUSED,
        transactional_id=request.transactional_id,
        client_id=call.client_id,
        reason="transactions are not served",
    )
    return refuse(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def refuse(request: InitProducerIdRequest, error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=-1, producer_epoch=-1)

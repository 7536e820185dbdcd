"""InitProducerId (api key 22), v0–v5: an id for an idempotent producer, or for a transactional one.

Today's producers are idempotent unless told otherwise, so nearly all of them ask. What an id was before is of no
interest then: whoever asks without a transactional id gets a fresh one, epoch 0. With a transactional id its
coordinator answers, see `coordinator/transactions/init_producer_id.py`.

v2 is flexible, v3 adds producer_id and producer_epoch to the request (KIP-360), v4 and v5 only allow new errors:
PRODUCER_FENCED and TRANSACTION_ABORTABLE. v6 (KIP-939) is not served, as Kafka does not advertise it.

Errors: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED without a transactional id; INVALID_REQUEST
for an empty transactional id, or a producer id without an epoch or the reverse; INVALID_TRANSACTION_TIMEOUT for one
that is not from 1 to transaction.max.timeout.ms; those of the table in docs/transactions.md, and of the coordinator
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
Kafka: KafkaApis.handleInitProducerIdRequest, TransactionCoordinator.handleInitProducerId.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows, allows_on_cluster, allows_on_some_topic
from ottla.cluster.refused import Refused
from ottla.coordinator.transactions.events import InitProducerIdRequested
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.security.authorizer import AclOperation, AclResourceType


def handle(request: InitProducerIdRequest, call: Call) -> InitProducerIdResponse | None:
    if request.transactional_id is not None:
        if not allows(call, AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id):
            return refuse(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif not allows_on_cluster(call, AclOperation.IDEMPOTENT_WRITE) and not allows_on_some_topic(
        call, AclOperation.WRITE
    ):
        return refuse(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
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
    expected = None if request.producer_id == -1 else (request.producer_id, request.producer_epoch)
    call.node.transaction_coordinator.submit(
        InitProducerIdRequested(
            call,
            request.transactional_id,
            request.transaction_timeout_ms,
            expected,
            call.api_version,
            call.client_id,
        )
    )
    return None


def refuse(request: InitProducerIdRequest, error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_id=-1, producer_epoch=-1)

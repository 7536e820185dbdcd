"""AddOffsetsToTxn (api key 25), v0–v4: a producer is about to commit a group's offsets in its transaction.

It is AddPartitionsToTxn for the partition of __consumer_offsets that keeps the group. Whether there is such a group is
not asked. v2 allows PRODUCER_FENCED, v3 is flexible, v4 allows TRANSACTION_ABORTABLE.

Errors: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED, and as AddPartitionsToTxn.
Kafka: KafkaApis.handleAddOffsetsToTxnRequest.
"""

from __future__ import annotations

from ottla.broker.internal.coordinators import group_partition
from ottla.broker.network.call import Call
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.transactions.answers import errors_of
from ottla.coordinator.transactions.decisions import as_known
from ottla.coordinator.transactions.events import AddPartitionsRequested
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse


class _Added:
    """Passes on what the coordinator says of the one partition."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def answer(self, result: AddPartitionsToTxnResponse.AddPartitionsToTxnResult, /) -> None:
        (error,) = errors_of(result).values()
        known = as_known(error, "AddOffsetsToTxn", self._call.api_version)
        self._call.answer(AddOffsetsToTxnResponse(error_code=known))


def handle(request: AddOffsetsToTxnRequest, call: Call) -> AddOffsetsToTxnResponse | None:
    place = GROUP_TOPIC, group_partition(call.node.cluster, request.group_id)
    call.node.transaction_coordinator.submit(
        AddPartitionsRequested(
            _Added(call),
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            frozenset((place,)),
            client_version=0,
        )
    )
    return None


def refuse(_request: AddOffsetsToTxnRequest, error_code: int) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error_code)

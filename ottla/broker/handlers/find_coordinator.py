"""FindCoordinator (api key 10), v0–v6: which node coordinates a group, or a transactional id.

The answer follows from the name alone: it hashes to a partition of __consumer_offsets (or of __transaction_state),
whose leader coordinates it. The first to ask has that topic created. Kafka answers
COORDINATOR_NOT_AVAILABLE until that is done; here it is done at once, so the first answer is already the right one
(docs/differences.md). The name itself is not looked at, even an empty one has a coordinator.

v1 adds key_type, throttle_time_ms and error_message, v3 is flexible, v4 takes many keys (KIP-699), v5 and v6 only
allow new errors and key types. In v1–v3 success has the error message "NONE", later ones have an empty one.

Errors: GROUP_AUTHORIZATION_FAILED, TRANSACTIONAL_ID_AUTHORIZATION_FAILED; COORDINATOR_NOT_AVAILABLE if nobody leads the
partition, its leader advertises no address on the client's listener, the topic can't be created, or it was made with
too few partitions; INVALID_REQUEST for a key type that is none, or is not known to the version, and for share groups,
which are not served.
Kafka: KafkaApis.getCoordinator, FindCoordinatorResponse.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.internal.coordinators import group_coordinator, transaction_coordinator
from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.cluster.address import Address
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.security.authorizer import AclOperation, AclResourceType

_GROUP: Final = 0
_TRANSACTION: Final = 1
_SHARE: Final = 2

#: key_type → what the authorizer is asked about, and the error.
_GUARDED: Final = {
    _GROUP: (AclResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    _TRANSACTION: (AclResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}

_BATCHED_FROM: Final = 4
_Coordinator = FindCoordinatorResponse.Coordinator


def handle(request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse:
    if request.key_type not in (_GROUP, _TRANSACTION, _SHARE):
        return refuse(request, ErrorCode.INVALID_REQUEST)
    if call.api_version < _BATCHED_FROM:
        found = _find(request.key, request.key_type, call)
        if isinstance(found, ErrorCode):
            return refuse(request, found)
        node_id, address = found
        return FindCoordinatorResponse(0, ErrorCode.NONE, "NONE", node_id, address.host, address.port)
    return FindCoordinatorResponse(
        coordinators=[_found(key, _find(key, request.key_type, call)) for key in paced(request.coordinator_keys)]
    )


def refuse(request: FindCoordinatorRequest, error_code: ErrorCode) -> FindCoordinatorResponse:
    meaning = error_code.meaning
    return FindCoordinatorResponse(
        0,
        error_code,
        meaning,
        -1,
        "",
        -1,
        [_Coordinator(key, -1, "", -1, error_code, meaning) for key in request.coordinator_keys],
    )


def _find(key: str, key_type: int, call: Call) -> tuple[int, Address] | ErrorCode:
    """The coordinator's node id and where the client reaches it, or why there is none."""
    cluster = call.node.cluster
    if key_type == _SHARE:
        return ErrorCode.INVALID_REQUEST
    resource_type, unauthorized = _GUARDED[key_type]
    if not allows(call, AclOperation.DESCRIBE, resource_type, key):
        return unauthorized
    topic = TRANSACTION_TOPIC if key_type == _TRANSACTION else GROUP_TOPIC
    if topic not in cluster.topics:
        from ottla.cluster.topic_creation import create_on_demand

        create_on_demand(cluster, topic)
    node = transaction_coordinator(cluster, key) if key_type == _TRANSACTION else group_coordinator(cluster, key)
    if node is None or call.listener_name not in node.addresses:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return node.node_id, node.addresses[call.listener_name]


def _found(key: str, found: tuple[int, Address] | ErrorCode) -> FindCoordinatorResponse.Coordinator:
    if isinstance(found, ErrorCode):
        return _Coordinator(key, -1, "", -1, found)
    node_id, address = found
    return _Coordinator(key, node_id, address.host, address.port)

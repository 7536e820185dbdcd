"""Metadata (api key 3), v0–v13: the nodes, and of topics what partitions they have and who leads them.

Every client begins here, and comes back whenever a leader turns out to be another. A null list of topics asks for all
(in v0 an empty one does), an empty one for the nodes alone. An unknown topic is created on the way if both the client
(allow_auto_topic_creation) and auto.create.topics.enable say so. As in Kafka, where that takes a moment, this very
answer still has UNKNOWN_TOPIC_OR_PARTITION for it, and the next one has the topic.

v1 adds rack, controller_id and is_internal, v2 cluster_id, v3 throttle_time_ms, v4 allow_auto_topic_creation, v5
offline_replicas, v7 leader_epoch, v8 authorized operations (KIP-430; v11 no longer the cluster's), v9 is flexible, v10
has topic ids in the answer, v12 in the request (KIP-516), where one id makes it a request by ids and names count no
more. v13 adds a top-level error_code.

Errors, by topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION for a bad name, UNKNOWN_TOPIC_ID; on all of them
INVALID_REQUEST for an id or a null name in v10 and v11, and UNKNOWN_SERVER_ERROR for a null name without any id in v12,
where Kafka fails. By partition: LEADER_NOT_AVAILABLE while nobody leads it; LISTENER_NOT_FOUND, up to v5
LEADER_NOT_AVAILABLE, if its leader advertises no address on the client's listener; REPLICA_NOT_AVAILABLE in v0, which
leaves out the replicas that are down. Kafka: KafkaApis.handleTopicMetadataRequest, KRaftMetadataCache.getTopicMetadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows, allows_on_cluster, asks
from ottla.broker.security.authorized_operations import (
    NOT_ASKED,
    authorized_cluster_operations,
    authorized_operations,
)
from ottla.cluster.address import Address
from ottla.cluster.cluster import Cluster
from ottla.cluster.topic import NO_LEADER, Topic
from ottla.cluster.topic_names import INTERNAL_TOPICS, name_fault
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse
from ottla.protocol.primitives import ZERO_UUID
from ottla.security.authorizer import AclOperation, AclResourceType

_Topic = MetadataResponse.MetadataResponseTopic

#: Kafka: KafkaApis.handleTopicMetadataRequest, errorUnavailableListeners.
_WITHOUT_LISTENER_NOT_FOUND: Final = 5


#: The name, or what may be done with it, is not to be known.
_WITHOUT_OPERATIONS: Final = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def handle(request: MetadataRequest, call: Call) -> MetadataResponse:
    cluster = call.node.cluster
    addresses = cluster.addresses_on(call.listener_name)
    asked = request.topics
    is_guarded = asks(call)

    def may_see(name: str) -> bool:
        return not is_guarded or allows(call, AclOperation.DESCRIBE, AclResourceType.TOPIC, name)

    if asked is None or (call.api_version == 0 and not asked):
        found = [_describe(topic, addresses) for topic in paced(list(cluster.topics.values())) if may_see(topic.name)]
    else:
        nameless = any(topic.name is None for topic in paced(asked))
        topic_ids = [topic.topic_id for topic in paced(asked) if topic.topic_id != ZERO_UUID]
        if call.api_version < 12 and (nameless or topic_ids):
            return refuse(request, ErrorCode.INVALID_REQUEST)
        if nameless and not topic_ids:
            return refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
        if topic_ids:
            found = [_by_id(topic_id, cluster, addresses, may_see) for topic_id in paced(dict.fromkeys(topic_ids))]
        else:
            create = request.allow_auto_topic_creation and cluster.settings["auto.create.topics.enable"]
            names = dict.fromkeys(topic.name or "" for topic in paced(asked))
            found = [
                _by_name(name, cluster, addresses, create=create and (not is_guarded or _may_create(call, name)))
                if may_see(name)
                else _Topic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name, is_internal=name in INTERNAL_TOPICS)
                for name in paced(names)
            ]
            if is_guarded and request.allow_auto_topic_creation and cluster.settings["auto.create.topics.enable"]:
                _refuse_creation(found, call)
    if call.api_version <= _WITHOUT_LISTENER_NOT_FOUND:
        for topic in found:
            _simplify(topic, call.api_version)
    if request.include_topic_authorized_operations:
        for topic in found:
            if topic.error_code not in _WITHOUT_OPERATIONS:
                topic.topic_authorized_operations = authorized_operations(call, AclResourceType.TOPIC, topic.name or "")
    return MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(node_id, address.host, address.port, cluster.nodes[node_id].rack)
            for node_id, address in addresses.items()
        ],
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=found,
        cluster_authorized_operations=authorized_cluster_operations(call)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def refuse(request: MetadataRequest, error_code: ErrorCode) -> MetadataResponse:
    return MetadataResponse(
        topics=[_Topic(error_code, topic.name or "", topic.topic_id) for topic in paced(request.topics or ())],
        error_code=error_code,
    )


def _may_create(call: Call, name: str) -> bool:
    return allows_on_cluster(call, AclOperation.CREATE) or allows(
        call, AclOperation.CREATE, AclResourceType.TOPIC, name
    )


def _refuse_creation(found: list[MetadataResponse.MetadataResponseTopic], call: Call) -> None:
    """Of topics that the client may describe and that there are not: tell it which it may not create either."""
    for topic in found:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not _may_create(call, topic.name or ""):
            topic.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _by_id(
    topic_id: bytes, cluster: Cluster, addresses: Mapping[int, Address], may_see: Callable[[str], bool]
) -> MetadataResponse.MetadataResponseTopic:
    topic = cluster.topics_by_id.get(topic_id)
    if topic is None:
        return _Topic(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not may_see(topic.name):
        return _Topic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id)
    return _describe(topic, addresses)


def _by_name(
    name: str, cluster: Cluster, addresses: Mapping[int, Address], *, create: bool
) -> MetadataResponse.MetadataResponseTopic:
    topic = cluster.topics.get(name)
    if topic is not None:
        return _describe(topic, addresses)
    if name_fault(name) is not None:
        return _Topic(ErrorCode.INVALID_TOPIC_EXCEPTION, name)
    if create:
        from ottla.cluster.topic_creation import create_on_demand

        create_on_demand(cluster, name)
    return _Topic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name, is_internal=name in INTERNAL_TOPICS)


def _describe(topic: Topic, addresses: Mapping[int, Address]) -> MetadataResponse.MetadataResponseTopic:
    """What a client is told who reaches these nodes: others are offline to it, and lead nothing."""
    partitions = [
        MetadataResponse.MetadataResponsePartition(
            error_code=_leader_error(placement.leader_id, addresses),
            partition_index=partition.index,
            leader_id=placement.leader_id if placement.leader_id in addresses else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=placement.replicas,
            isr_nodes=placement.isr,
            offline_replicas=[replica for replica in placement.replicas if replica not in addresses],
        )
        for partition, placement in paced(list(zip(topic.partitions, topic.placements, strict=True)))
    ]
    return _Topic(ErrorCode.NONE, topic.name, topic.topic_id, topic.is_internal, partitions)


def _leader_error(leader_id: int, addresses: Mapping[int, Address]) -> ErrorCode:
    if leader_id in addresses:
        return ErrorCode.NONE
    return ErrorCode.LEADER_NOT_AVAILABLE if leader_id == NO_LEADER else ErrorCode.LISTENER_NOT_FOUND


def _simplify(topic: MetadataResponse.MetadataResponseTopic, version: int) -> None:
    """Up to v5 nobody knows LISTENER_NOT_FOUND; in v0 every replica has to be among the brokers."""
    for partition in topic.partitions:
        if partition.error_code == ErrorCode.LISTENER_NOT_FOUND:
            partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE
        offline = partition.offline_replicas
        if version == 0 and offline:
            if not partition.error_code:
                partition.error_code = ErrorCode.REPLICA_NOT_AVAILABLE
            partition.replica_nodes = [replica for replica in partition.replica_nodes if replica not in offline]
            partition.isr_nodes = [replica for replica in partition.isr_nodes if replica not in offline]

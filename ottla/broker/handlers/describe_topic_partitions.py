"""DescribeTopicPartitions (api key 75), v0: topics by name, page by page (KIP-966).

Topics come sorted by name, all of them if the request lists none. An answer holds at most response_partition_limit
partitions, and no more than max.request.partition.size.limit; what is left is named by next_cursor, which the client
hands back to go on. A topic that is just not reached has cursor partition 0, even if there is no such topic. A node
that advertises no address on the client's listener is offline to it, and leads nothing.

Errors, by topic, where topics are listed: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION for a bad name; on all of
them INVALID_REQUEST for a cursor whose topic is not listed or whose partition is negative, and UNKNOWN_SERVER_ERROR for
a topic without a name, where Kafka fails if there is no cursor.
Kafka: DescribeTopicPartitionsRequestHandler, KRaftMetadataCache.describeTopicResponse.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.broker.network.call import Call
from ottla.broker.security.authorized_operations import authorized_operations
from ottla.cluster.address import Address
from ottla.cluster.topic import NO_LEADER, Topic
from ottla.cluster.topic_names import INTERNAL_TOPICS, name_fault
from ottla.pacing import yield_turn
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from ottla.security.authorizer import AclResourceType

_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic


def handle(request: DescribeTopicPartitionsRequest, call: Call) -> DescribeTopicPartitionsResponse:
    cluster = call.node.cluster
    cursor = request.cursor
    listed = [topic.name for topic in request.topics]
    if cursor is not None and (cursor.partition_index < 0 or (listed and cursor.topic_name not in listed)):
        return refuse(request, ErrorCode.INVALID_REQUEST)
    if cursor is None and "" in listed:
        return refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    addresses = cluster.addresses_on(call.listener_name)
    first_name, first_partition = (cursor.topic_name, cursor.partition_index) if cursor is not None else ("", 0)
    response = DescribeTopicPartitionsResponse()
    limit: int = call.node.settings["max.request.partition.size.limit"]
    left = max(1, min(limit, request.response_partition_limit))
    for name in sorted({name for name in listed or cluster.topics if name >= first_name}):
        yield_turn()
        if left == 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(name, 0)
            break
        topic = cluster.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        start = first_partition if name == first_name else 0
        described = _describe(topic, start, start + left, addresses)
        response.topics.append(described)
        left -= len(described.partitions)
        if start + len(described.partitions) < len(topic.partitions):
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(name, start + len(described.partitions))
            break
    for described in response.topics:
        described.topic_authorized_operations = authorized_operations(call, AclResourceType.TOPIC, described.name or "")
    return response


def refuse(request: DescribeTopicPartitionsRequest, error_code: ErrorCode) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=[_Topic(error_code, topic.name) for topic in request.topics])


def _unknown(name: str) -> DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic:
    error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name_fault(name) is None else ErrorCode.INVALID_TOPIC_EXCEPTION
    return _Topic(error_code, name, is_internal=name in INTERNAL_TOPICS)


def _describe(
    topic: Topic, start: int, end: int, addresses: Mapping[int, Address]
) -> DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic:
    partitions = [
        DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
            partition_index=partition.index,
            leader_id=placement.leader_id if placement.leader_id in addresses else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=placement.replicas,
            isr_nodes=placement.isr,
            eligible_leader_replicas=placement.elr,
            last_known_elr=placement.last_known_elr,
            offline_replicas=[replica for replica in placement.replicas if replica not in addresses],
        )
        for partition, placement in zip(topic.partitions[start:end], topic.placements[start:end], strict=True)
    ]
    return _Topic(ErrorCode.NONE, topic.name, topic.topic_id, topic.is_internal, partitions)

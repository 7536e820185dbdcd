"""DescribeProducers (api key 61), v0: which idempotent and transactional producers a partition remembers (KIP-664).

Of each: its epoch, the last sequence number and timestamp, the epoch of the coordinator that ended its last transaction
and where its open one began, -1 for what there is not. Any replica may be asked.

Errors, by partition: INVALID_TOPIC_EXCEPTION for a bad name, TOPIC_AUTHORIZATION_FAILED and
UNKNOWN_TOPIC_OR_PARTITION, on all partitions of the topic and with a text; UNKNOWN_TOPIC_OR_PARTITION and
NOT_LEADER_OR_FOLLOWER of a single one, without.
Kafka: KafkaApis.handleDescribeProducersRequest, UnifiedLog.activeProducers.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.broker.security.access import allows
from ottla.cluster.partition_access import find_accessible
from ottla.cluster.topic import Topic
from ottla.cluster.topic_names import name_fault
from ottla.log.producer_entry import ProducerEntry
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from ottla.security.authorizer import AclOperation, AclResourceType

_Topic = DescribeProducersResponse.TopicResponse
_Partition = DescribeProducersResponse.PartitionResponse


def handle(request: DescribeProducersRequest, call: Call) -> DescribeProducersResponse:
    return DescribeProducersResponse(topics=[_describe(asked, call) for asked in paced(request.topics)])


def refuse(request: DescribeProducersRequest, error_code: int) -> DescribeProducersResponse:
    return DescribeProducersResponse(topics=[_all_failed(topic, error_code) for topic in request.topics])


def _describe(asked: DescribeProducersRequest.TopicRequest, call: Call) -> DescribeProducersResponse.TopicResponse:
    fault = name_fault(asked.name)
    if fault is not None:
        return _all_failed(asked, ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {fault}")
    if not allows(call, AclOperation.READ, AclResourceType.TOPIC, asked.name):
        error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return _all_failed(asked, error, error.meaning)
    topic = call.node.cluster.topics.get(asked.name)
    if topic is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return _all_failed(asked, error, error.meaning)
    return _Topic(asked.name, [_describe_partition(topic, index, call) for index in paced(asked.partition_indexes)])


def _all_failed(
    asked: DescribeProducersRequest.TopicRequest, error_code: int, message: str | None = None
) -> DescribeProducersResponse.TopicResponse:
    return _Topic(asked.name, [_Partition(index, error_code, message) for index in asked.partition_indexes])


def _describe_partition(topic: Topic, index: int, call: Call) -> DescribeProducersResponse.PartitionResponse:
    partition = find_accessible(call.node, topic, index, leader_only=False)
    if isinstance(partition, ErrorCode):
        return _Partition(index, partition)
    return _Partition(index, active_producers=[_shown(producer) for producer in paced(list(partition.producers))])


def _shown(producer: ProducerEntry) -> DescribeProducersResponse.ProducerState:
    began_at = producer.transaction_first_offset
    return DescribeProducersResponse.ProducerState(
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        producer.coordinator_epoch,
        -1 if began_at is None else began_at,
    )

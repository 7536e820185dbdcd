"""DeleteRecords (api key 21), v0–v2: let a log begin later; what comes before is gone for every reader.

-1 stands for the high watermark: everything there is. An offset that the log has left behind already changes nothing.
The answer has where the log begins now. Kafka waits up to timeout_ms until every replica has followed; here all
replicas share one log, so there is nothing to wait for.

v1 is as v0, v2 is flexible.

Errors, by partition, in this order: UNKNOWN_TOPIC_OR_PARTITION; INVALID_TOPIC_EXCEPTION for the broker's own topics;
NOT_LEADER_OR_FOLLOWER; POLICY_VIOLATION where cleanup.policy is compact without delete; OFFSET_OUT_OF_RANGE beyond the
high watermark and below -1. Kafka: KafkaApis.handleDeleteRecordsRequest, Partition.deleteRecordsOnLeader.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.network.call import Call
from ottla.cluster.partition_access import access_error, find_partition
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse

_Topic = DeleteRecordsResponse.DeleteRecordsTopicResult
_Partition = DeleteRecordsResponse.DeleteRecordsPartitionResult

_NO_LOW_WATERMARK: Final = -1


def handle(request: DeleteRecordsRequest, call: Call) -> DeleteRecordsResponse:
    # Of a partition that is listed twice the last offset counts.
    wanted: dict[str, dict[int, int]] = {}
    for topic in paced(request.topics):
        offsets = wanted.setdefault(topic.name, {})
        offsets.update((partition.partition_index, partition.offset) for partition in topic.partitions)
    return DeleteRecordsResponse(
        topics=[
            _Topic(name, [_delete(name, index, offset, call) for index, offset in paced(offsets.items())])
            for name, offsets in paced(wanted.items())
            if offsets
        ]
    )


def refuse(request: DeleteRecordsRequest, error_code: int) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            _Topic(
                topic.name,
                [
                    _Partition(partition.partition_index, _NO_LOW_WATERMARK, error_code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _delete(topic_name: str, index: int, offset: int, call: Call) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
    topic = call.node.cluster.topics.get(topic_name)
    partition = find_partition(topic, index)
    low_watermark = _NO_LOW_WATERMARK
    if topic is None or partition is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif topic.is_internal:
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    else:
        error = access_error(call.node, partition, topic.placements[index])
        if not error:
            error, low_watermark = partition.delete_records(offset)
    return _Partition(index, low_watermark, error)

"""ListOffsets (api key 2), v1–v11: the offset of a time, or one of the ends of a log.

A time in milliseconds asks for the first record that is not older. Negative ones are special: -1 where the log ends for
this reader, -2 where it begins, -3 (v7) the record with the largest time, -4 (v8) where it begins on this machine, -5
(v9) the last offset and -6 (v11) the first one still to come in tiered storage, which is not served: nothing is found.
Nothing found is no error.

v2 adds isolation_level, v4 leader epochs (KIP-320), v5 only allows a new error, v6 is flexible, v10 adds timeout_ms,
which is for tiered storage.

Errors, by partition, in this order: INVALID_REQUEST for one that is listed twice (one answer); UNSUPPORTED_VERSION for
a special time that the version does not have; what `log_access` says; UNKNOWN_SERVER_ERROR on all of them for an
isolation_level that isn't. Kafka: KafkaApis.handleListOffsetRequest, ReplicaManager.fetchOffset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from ottla.broker.network.call import Call
from ottla.cluster.partition_access import find_accessible
from ottla.log.partition_answers import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    IsolationLevel,
)
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

_Topic = ListOffsetsResponse.ListOffsetsTopicResponse
_Partition = ListOffsetsResponse.ListOffsetsPartitionResponse

_CONSUMER_REPLICA_ID: Final = -1
#: Tools that want to look into whatever replica they have reached.
_DEBUGGING_REPLICA_ID: Final = -2
_VERSION_FIRST: Final[Mapping[int, int]] = {
    LATEST_TIMESTAMP: 1,
    EARLIEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}


def handle(request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    if request.isolation_level not in (0, 1):
        return refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    # Replicas read to the end of the log, committed or not.
    isolation = IsolationLevel(request.isolation_level) if request.replica_id == _CONSUMER_REPLICA_ID else None
    leader_only = request.replica_id != _DEBUGGING_REPLICA_ID
    times_listed = Counter(
        (topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions
    )
    topics: dict[str, dict[int, ListOffsetsResponse.ListOffsetsPartitionResponse]] = {}
    for topic in paced(request.topics):
        answers = topics.setdefault(topic.name, {})
        for asked in paced(topic.partitions):
            index = asked.partition_index
            if times_listed[topic.name, index] > 1:
                answers[index] = _Partition(index, ErrorCode.INVALID_REQUEST)
            else:
                answers[index] = _find(topic.name, asked, call, isolation, leader_only=leader_only)
    return ListOffsetsResponse(
        topics=[_Topic(name, list(answers.values())) for name, answers in topics.items() if answers]
    )


def refuse(request: ListOffsetsRequest, error_code: int) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            _Topic(topic.name, [_Partition(partition.partition_index, error_code) for partition in topic.partitions])
            for topic in request.topics
        ]
    )


def _find(
    topic_name: str,
    asked: ListOffsetsRequest.ListOffsetsPartition,
    call: Call,
    isolation: IsolationLevel | None,
    *,
    leader_only: bool,
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    index, timestamp = asked.partition_index, asked.timestamp
    if timestamp < 0 and call.api_version < _VERSION_FIRST.get(timestamp, call.api_version + 1):
        return _Partition(index, ErrorCode.UNSUPPORTED_VERSION)
    topic = call.node.cluster.topics.get(topic_name)
    partition = find_accessible(call.node, topic, index, asked.current_leader_epoch, leader_only=leader_only)
    if isinstance(partition, ErrorCode):
        return _Partition(index, partition)
    found = partition.offset_for_timestamp(timestamp, isolation)
    return _Partition(
        index, found.error, timestamp=found.timestamp, offset=found.offset, leader_epoch=found.leader_epoch
    )

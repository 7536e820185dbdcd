"""OffsetForLeaderEpoch (api key 23), v2–v4: where a leader's time ended in the log.

A client that has read up to some offset under some leader epoch asks this after the leader has changed: if that epoch
ended before its offset, it has read what the log no longer holds (KIP-320). An epoch that never wrote anything is
answered with the one before it, and one that nobody knows of with -1 and -1, which is no error.

v3 adds replica_id, v4 is flexible.

Errors, by partition: what `log_access` says.
Kafka: KafkaApis.handleOffsetForLeaderEpochRequest, Partition.lastOffsetForLeaderEpoch.
"""

from __future__ import annotations

from ottla.broker.network.call import Call
from ottla.cluster.partition_access import find_accessible
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse

_Topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
_EpochEnd = OffsetForLeaderEpochResponse.EpochEndOffset


def handle(request: OffsetForLeaderEpochRequest, call: Call) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            _Topic(topic.topic, [_find(topic.topic, partition, call) for partition in paced(topic.partitions)])
            for topic in paced(request.topics)
        ]
    )


def refuse(request: OffsetForLeaderEpochRequest, error_code: int) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            _Topic(topic.topic, [_EpochEnd(error_code, partition.partition) for partition in topic.partitions])
            for topic in request.topics
        ]
    )


def _find(
    topic_name: str, asked: OffsetForLeaderEpochRequest.OffsetForLeaderPartition, call: Call
) -> OffsetForLeaderEpochResponse.EpochEndOffset:
    topic = call.node.cluster.topics.get(topic_name)
    partition = find_accessible(call.node, topic, asked.partition, asked.current_leader_epoch)
    if isinstance(partition, ErrorCode):
        return _EpochEnd(partition, asked.partition)
    return _EpochEnd(ErrorCode.NONE, asked.partition, *partition.offset_for_leader_epoch(asked.leader_epoch))

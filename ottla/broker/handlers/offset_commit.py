"""OffsetCommit (api key 8), v2–v10: a group's members, or whoever acts for it, say how far they have read.

Partitions that do not exist are refused here, one by one; the rest goes to the group's task, which answers when the
offsets are in the group log. If nothing is left, the group is not asked at all.

v3 adds throttle_time_ms, v5 drops retention_time_ms, v6 adds the leader epoch (KIP-320), v7 group_instance_id
(KIP-345), v8 is flexible, v9 allows GROUP_ID_NOT_FOUND (KIP-848), v10 names topics by id (KIP-848).

Errors, for each partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_METADATA_TOO_LARGE, UNKNOWN_MEMBER_ID,
FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, GROUP_ID_NOT_FOUND, and of the coordinator
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
Kafka: KafkaApis.handleOffsetCommitRequest, OffsetMetadataManager.commitOffset.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.cluster.cluster import Cluster
from ottla.broker.network.call import Call
from ottla.coordinator.answers import commit_refused
from ottla.coordinator.events import OffsetCommitRequested
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

_TOPIC_IDS_FROM: Final = 10

_Topic = OffsetCommitRequest.OffsetCommitRequestTopic
_Answered = OffsetCommitResponse.OffsetCommitResponseTopic
_AnsweredPartition = OffsetCommitResponse.OffsetCommitResponsePartition


class Merged:
    """Answers with what the group says, and with what was refused before it was asked."""

    __slots__ = ("_call", "_refused")

    def __init__(self, call: Call, refused: list[_Answered]) -> None:
        self._call = call
        self._refused = refused

    def answer(self, response: OffsetCommitResponse) -> None:
        by_topic = {(topic.name, topic.topic_id): topic for topic in self._refused}
        for topic in response.topics:
            refused = by_topic.get((topic.name, topic.topic_id))
            if refused is None:
                self._refused.append(topic)
            else:
                refused.partitions += topic.partitions
        self._call.answer(OffsetCommitResponse(topics=self._refused))


def handle(request: OffsetCommitRequest, call: Call) -> OffsetCommitResponse | None:
    token: Call | Merged = call
    if not _all_exist(request, call):
        refused = _refuse_unknown(request, call)
        if not request.topics:
            return OffsetCommitResponse(topics=refused)
        token = Merged(call, refused)
    call.node.coordinator.submit(request.group_id, OffsetCommitRequested(token, request, call.api_version))
    return None


def _all_exist(request: OffsetCommitRequest, call: Call) -> bool:
    """Fill in each topic's name and id, and say whether all is there: then nothing is left to do for the handler."""
    cluster = call.node.cluster
    by_id = call.api_version >= _TOPIC_IDS_FROM
    for topic in request.topics:
        known = cluster.topics_by_id.get(topic.topic_id) if by_id else cluster.topics.get(topic.name)
        if known is None or not topic.partitions:
            return False
        topic.name = known.name
        topic.topic_id = known.topic_id
        count = len(known.partitions)
        for partition in topic.partitions:
            if not 0 <= partition.partition_index < count:
                return False
    return bool(request.topics)


def _refuse_unknown(request: OffsetCommitRequest, call: Call) -> list[_Answered]:
    """Fill in each topic's name and id, take out of the request what does not exist, and return the answer to that."""
    cluster = call.node.cluster
    refused: list[_Answered] = []
    if call.api_version >= _TOPIC_IDS_FROM:
        for topic in request.topics:
            known = cluster.topics_by_id.get(topic.topic_id)
            topic.name = known.name if known else ""
    for topic in request.topics:
        refused += _refuse_in(topic, cluster, by_id=call.api_version >= _TOPIC_IDS_FROM)
    request.topics = [topic for topic in request.topics if topic.partitions]
    return refused


def _refuse_in(topic: _Topic, cluster: Cluster, *, by_id: bool) -> list[_Answered]:
    known = cluster.topics.get(topic.name)
    if known is None:
        error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing, topic.partitions = topic.partitions, []
        topic_id = topic.topic_id
    else:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topic_id = topic.topic_id = known.topic_id
        count = len(known.partitions)
        missing = [p for p in topic.partitions if not 0 <= p.partition_index < count]
        if missing:
            topic.partitions = [p for p in topic.partitions if 0 <= p.partition_index < count]
    if not missing:
        return []
    return [_Answered(topic.name, topic_id, [_AnsweredPartition(p.partition_index, error) for p in missing])]


def refuse(request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    return commit_refused(request, error_code)

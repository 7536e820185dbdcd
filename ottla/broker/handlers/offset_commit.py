"""OffsetCommit (api key 8), v2–v10: a group's members, or a tool that acts for it, say how far they have read.

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

from collections.abc import Sequence
from typing import Final, TypeAlias

from ottla.broker.groups import commit_frames
from ottla.broker.network.call import Call
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.offsets.answers import commit_refused
from ottla.coordinator.offsets.events import OffsetCommitRequested
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from ottla.protocol.primitives import ZERO_UUID

#: What is spared of decoding a consumer's next commit.
beginning_of: Final = commit_frames.beginning_of

_TOPIC_IDS_FROM: Final = 10
#: A committed offset in a batch of the group log, in its shortest form and without any text.
_RECORD_BYTES_MIN: Final = 41

_Committed: TypeAlias = (
    OffsetCommitRequest.OffsetCommitRequestPartition | TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
)
_Answered = OffsetCommitResponse.OffsetCommitResponseTopic
_AnsweredPartition = OffsetCommitResponse.OffsetCommitResponsePartition


class Refusals:
    """What is refused before the group is asked, and to what the group says it is added.

    A topic stands in it once, however often it is listed. Kafka: OffsetCommitResponse.Builder.
    """

    __slots__ = ("_by_topic", "_call", "topics")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._by_topic: dict[tuple[str, bytes], _Answered] = {}
        self.topics: list[_Answered] = []

    def topic(self, name: str, topic_id: bytes) -> _Answered:
        """The topic's place in the answer; a new one at its end, unless it has one."""
        found = self._by_topic.get((name, topic_id))
        if found is None:
            found = self._by_topic[name, topic_id] = _Answered(name, topic_id)
            self.topics.append(found)
        return found

    def answer(self, response: OffsetCommitResponse) -> None:
        """The group has spoken."""
        if self.topics:
            for topic in response.topics:
                self.topic(topic.name, topic.topic_id).partitions += topic.partitions
            response = OffsetCommitResponse(topics=self.topics)
        self._call.answer(response)


def handle(request: OffsetCommitRequest, call: Call) -> OffsetCommitResponse | None:
    token: Call | Refusals = call
    if not _all_exist(request, call):
        token = Refusals(call)
        _refuse_unknown(request, token, call)
        if not request.topics:
            return OffsetCommitResponse(topics=token.topics)
    is_long = not call.is_brief
    commit = OffsetCommitRequested(token, request, call.api_version, is_long and is_too_large(request, call))
    call.node.coordinator.submit(request.group_id, commit, is_long=is_long)
    return None


def is_too_large(request: OffsetCommitRequest | TxnOffsetCommitRequest, call: Call) -> bool:
    """Whether the group log has no room in a batch for this, by the least that it would take.

    To find that out by writing it would hold the group's task for long.
    """
    group_topic, coordinator = call.node.cluster.topics.get(GROUP_TOPIC), call.node.coordinator
    if group_topic is None:
        return False
    log = group_topic.partitions[coordinator.partition_of(request.group_id)].config
    bytes_left = min(log.rules.max_message_bytes, log.segment_bytes)
    metadata_max = coordinator.config.offset_metadata_max_bytes // 2  # beyond, it may be too long to be written
    for topic in request.topics:
        size = _RECORD_BYTES_MIN + len(request.group_id) + len(topic.name)
        partitions: Sequence[_Committed] = topic.partitions
        for partition in paced(partitions):
            metadata = partition.committed_metadata
            if not metadata or len(metadata) <= metadata_max:
                bytes_left -= size + len(metadata or "")
        if bytes_left < 0:
            return True
    return False


def _all_exist(request: OffsetCommitRequest, call: Call) -> bool:
    """Fill in each topic's name and id, and say whether all is there: then nothing is left to do for the handler."""
    cluster = call.node.cluster
    by_id = call.api_version >= _TOPIC_IDS_FROM
    topics = request.topics
    for topic in paced(topics):
        known = cluster.topics_by_id.get(topic.topic_id) if by_id else cluster.topics.get(topic.name)
        if known is None or not topic.partitions:
            return False
        topic.name = known.name
        topic.topic_id = known.topic_id
        count = len(known.partitions)
        for partition in topic.partitions:
            if not 0 <= partition.partition_index < count:
                return False
    return bool(topics)


def _refuse_unknown(request: OffsetCommitRequest, refusals: Refusals, call: Call) -> None:
    """Fill in each topic's name and id, and take out of the request what does not exist."""
    cluster = call.node.cluster
    by_id = call.api_version >= _TOPIC_IDS_FROM
    for topic in paced(request.topics):
        known = cluster.topics_by_id.get(topic.topic_id) if by_id else cluster.topics.get(topic.name)
        if known is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused = refusals.topic("" if by_id else topic.name, topic.topic_id if by_id else ZERO_UUID)
            refused.partitions += [_AnsweredPartition(p.partition_index, error) for p in topic.partitions]
            topic.partitions = []
            continue
        topic.name, topic.topic_id = known.name, known.topic_id
        count = len(known.partitions)
        missing = [p.partition_index for p in topic.partitions if not 0 <= p.partition_index < count]
        if missing:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refusals.topic(topic.name, topic.topic_id).partitions += [_AnsweredPartition(i, error) for i in missing]
            topic.partitions = [p for p in topic.partitions if 0 <= p.partition_index < count]
    request.topics = [topic for topic in request.topics if topic.partitions]


def refuse(request: OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse:
    return commit_refused(request, error_code)

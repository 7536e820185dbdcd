"""The shapes of answers about offsets and about the end of a group: refusals and successes, version by version.

The error is decided elsewhere; here is only what surrounds it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ottla.pacing import FEW_ELEMENTS, paced
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.delete_groups import DeleteGroupsResponse
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.offset_delete import OffsetDeleteResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.coordinator.offsets.events import OffsetFetchRequested

NO_OFFSET: Final = -1  # Kafka: OffsetFetchResponse.INVALID_OFFSET
NO_LEADER_EPOCH: Final = -1

_FETCH_WITH_GROUP_ERROR: Final = 2
#: How many answers to commits are kept to be given again.
_TAKEN_MAX: Final = 1_000


def commit_taken(request: OffsetCommitRequest) -> OffsetCommitResponse:
    """No error for any partition. It may be given again: don't change it."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) <= FEW_ELEMENTS:
        (topic,) = request.topics
        return _taken(topic.name, topic.topic_id, *[partition.partition_index for partition in topic.partitions])
    return commit_refused(request, NONE)


@lru_cache(_TAKEN_MAX)
def _taken(topic: str, topic_id: bytes, *partitions: int) -> OffsetCommitResponse:
    """The same for partitions of one topic, which consumers commit again and again."""
    taken = [OffsetCommitResponse.OffsetCommitResponsePartition(partition, NONE) for partition in partitions]
    return OffsetCommitResponse(topics=[OffsetCommitResponse.OffsetCommitResponseTopic(topic, topic_id, taken)])


def commit_refused(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """The same error for every partition. Kafka: OffsetCommitRequest.getErrorResponse."""
    return commit_answered(request, lambda _partition: error)


def commit_answered(
    request: OffsetCommitRequest,
    error_of: Callable[[OffsetCommitRequest.OffsetCommitRequestPartition], ErrorCode],
) -> OffsetCommitResponse:
    """An error, or none, for every partition."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponse.OffsetCommitResponsePartition(partition.partition_index, error_of(partition))
                    for partition in paced(topic.partitions)
                ],
            )
            for topic in paced(request.topics)
        ]
    )


def transactional_commit_refused(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """The same error for every partition. Kafka: TxnOffsetCommitRequest.getErrorResponse."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(partition.partition_index, error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetch_refused(event: OffsetFetchRequested, error: ErrorCode) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    """The group's error; v1 has none, so each partition says it. Kafka: OffsetFetchResponse.groupError."""
    if event.api_version < _FETCH_WITH_GROUP_ERROR:
        return OffsetFetchResponse.OffsetFetchResponseGroup(
            event.request.group_id, nothing_committed(event, error), ErrorCode.NONE
        )
    return OffsetFetchResponse.OffsetFetchResponseGroup(event.request.group_id, [], error)


def nothing_committed(
    event: OffsetFetchRequested, error: ErrorCode = ErrorCode.NONE
) -> list[OffsetFetchResponse.OffsetFetchResponseTopics]:
    """For every partition asked for: no offset."""
    return [
        OffsetFetchResponse.OffsetFetchResponseTopics(
            topic.name, topic.topic_id, [no_offset(partition, error) for partition in paced(topic.partition_indexes)]
        )
        for topic in paced(event.request.topics or ())
    ]


def no_offset(partition: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    return OffsetFetchResponse.OffsetFetchResponsePartitions(partition, NO_OFFSET, NO_LEADER_EPOCH, "", error)


def offset_delete_refused(error: ErrorCode) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error)


def delete_answered(group_id: str, error: ErrorCode) -> DeleteGroupsResponse.DeletableGroupResult:
    return DeleteGroupsResponse.DeletableGroupResult(group_id, error)

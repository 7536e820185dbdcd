"""The shapes of answers about offsets and about the end of a group: refusals and successes, version by version.

The error is decided elsewhere; here is only what surrounds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_groups import DeleteGroupsResponse
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.offset_delete import OffsetDeleteResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

if TYPE_CHECKING:
    from ottla.coordinator.offsets.events import OffsetFetchRequested

NO_OFFSET: Final = -1  # Kafka: OffsetFetchResponse.INVALID_OFFSET
NO_LEADER_EPOCH: Final = -1

_FETCH_WITH_GROUP_ERROR: Final = 2


def commit_refused(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """The same error for every partition. Kafka: OffsetCommitRequest.getErrorResponse."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [
                    OffsetCommitResponse.OffsetCommitResponsePartition(partition.partition_index, error)
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

"""OffsetCommit (api key 8), v2–v10: how far a group has read.

The group's kind says which commits are allowed. Then the request's partitions go to the log in one batch, and only when
they are there they count and the answer leaves. Metadata that is too long is refused partition by partition.

Kafka: OffsetMetadataManager.commitOffset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.notes import note
from ottla.coordinator.offsets import answers
from ottla.coordinator.offsets.committed import NO_EXPIRY, CommittedOffset
from ottla.coordinator.offsets.fetch import answer_waiting
from ottla.coordinator.offsets.records import offset_record
from ottla.coordinator.runtime.effects import Append, Completion, Reply
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.runtime.records import is_writable
from ottla.coordinator.write_errors import WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.pacing import paced
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

if TYPE_CHECKING:
    from ottla.coordinator.offsets.events import OffsetCommitRequested
    from ottla.coordinator.offsets.group import AnyGroup
    from ottla.coordinator.runtime.effects import Effects
    from ottla.coordinator.runtime.records import Record

_NO_RETENTION: Final = -1  # Kafka: OffsetCommitRequest.DEFAULT_RETENTION_TIME
_INT64_SIGN: Final = 1 << 63


@frozen
class OffsetsWritten(Completion):
    """Committed offsets are in the log."""

    event: OffsetCommitRequested
    response: OffsetCommitResponse
    committed: list[tuple[str, int, CommittedOffset]]
    creates_group: bool


def write_offsets(
    group: AnyGroup, now_ms: int, event: OffsetCommitRequested, creates_group: bool, effects: Effects
) -> None:
    """Write down the offsets of a commit that is allowed; `creates_group`: whether the group is there only for it."""
    request = event.request
    committed: list[tuple[str, int, CommittedOffset]] = []
    records: list[Record] = []
    are_all_taken = True
    for topic in paced(request.topics):
        for partition in paced(topic.partitions):
            metadata = partition.committed_metadata
            if metadata and is_too_long(group, metadata):
                are_all_taken = False
            else:
                offset = _committed_offset(now_ms, request.retention_time_ms, topic.topic_id, partition)
                committed.append((topic.name, partition.partition_index, offset))
                records.append(offset_record(group.group_id, topic.name, partition.partition_index, offset))
    response = answers.commit_taken(request) if are_all_taken else _taken_in_part(group, request)
    if not records:
        effects.append(Reply(event.token, response))
        return
    group.offsets.writes += 1
    effects.append(Append(records, OffsetsWritten(event, response, committed, creates_group)))


def _taken_in_part(group: AnyGroup, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """The answer to a commit of which some metadata is too long."""

    def error_of(partition: OffsetCommitRequest.OffsetCommitRequestPartition) -> ErrorCode:
        metadata = partition.committed_metadata
        return ErrorCode.OFFSET_METADATA_TOO_LARGE if metadata and is_too_long(group, metadata) else NONE

    return answers.commit_answered(request, error_of)


def is_too_long(group: AnyGroup, metadata: str) -> bool:
    """Kafka counts a string's UTF-16 units, though the setting's name says bytes."""
    units_max = group.config.offset_metadata_max_bytes
    if len(metadata) * 2 > units_max and len(metadata.encode("utf-16-le")) // 2 > units_max:
        return True
    return not is_writable(metadata)


def _committed_offset(
    now_ms: int,
    retention_time_ms: int,
    topic_id: bytes,
    partition: OffsetCommitRequest.OffsetCommitRequestPartition,
) -> CommittedOffset:
    metadata = partition.committed_metadata or ""
    if retention_time_ms == _NO_RETENTION:
        return CommittedOffset(
            partition.committed_offset, partition.committed_leader_epoch, metadata, now_ms, NO_EXPIRY, topic_id
        )
    # Written in a form that has neither leader epoch nor topic id.
    expire_timestamp_ms = (now_ms + retention_time_ms + _INT64_SIGN) % (2 * _INT64_SIGN) - _INT64_SIGN  # as Java adds
    return CommittedOffset(partition.committed_offset, -1, metadata, now_ms, expire_timestamp_ms)


def keep_offsets(group: AnyGroup, written: OffsetsWritten, error: ErrorCode, effects: Effects) -> None:
    """The offsets are in the log: they count now. Or they are not, and none of them does."""
    offsets = group.offsets
    offsets.writes -= 1
    event = written.event
    if not error:
        for topic, partition, committed in paced(written.committed):
            offsets.keep(topic, partition, committed)
        effects.append(Reply(event.token, written.response))
    else:
        refuse_unwritten(group, event, error, effects)
    if offsets.waiting_fetches:
        answer_waiting(offsets, error, effects)


def refuse_unwritten(group: AnyGroup, event: OffsetCommitRequested, error: ErrorCode, effects: Effects) -> None:
    """The log does not take the offsets of this commit."""
    answered = WRITE_ERRORS.get(error, error)
    effects.append(Reply(event.token, answers.commit_refused(event.request, answered)))
    note(group, effects, GroupEvents.GROUP_WRITE_FAILED, what="offsets", error=answered.name)

"""OffsetCommit (api key 8), v2–v10, and OffsetFetch (9), v1–v10: how far a group has read.

A commit is checked once for the whole request (`states.OFFSET_COMMIT`): members commit in their generation, anybody may
commit without one as long as the group is Empty. Then its partitions go to the log in one batch, and only when they are
there they count and the answer leaves. A fetch asks for nothing but the offsets: no membership, no session.

A fetch of *stable* offsets waits for the commits that are on their way to the log; any other sees what is there.

v10 goes by topic ids: what was committed for another topic of the same name is not found.
Kafka: OffsetMetadataManager.commitOffset, fetchOffsets, fetchAllOffsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.coordinator import answers
from ottla.coordinator.effects import Append, Completion, Record, Reply
from ottla.coordinator.ending import end_unwritten
from ottla.coordinator.group_log import is_writable, offset_record
from ottla.coordinator.members import keep_alive, situate
from ottla.coordinator.notes import Cause, Happened, note
from ottla.coordinator.offset_store import NO_EXPIRY, CommittedOffset, keep_offset
from ottla.coordinator.states import (
    OFFSET_COMMIT,
    CommitSituation,
    GroupState,
    MemberSituation,
)
from ottla.coordinator.write_errors import FETCH_WRITE_ERRORS, WRITE_ERRORS
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse
from ottla.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.effects import Effects
    from ottla.coordinator.events import OffsetCommitRequested, OffsetFetchRequested
    from ottla.coordinator.group import Group

_NO_RETENTION: Final = -1  # Kafka: OffsetCommitRequest.DEFAULT_RETENTION_TIME
_INT64_SIGN: Final = 1 << 63


@dataclass(slots=True)
class OffsetsWritten(Completion):
    """Committed offsets are in the log."""

    event: OffsetCommitRequested
    response: OffsetCommitResponse
    committed: list[tuple[str, int, CommittedOffset]]
    creates_group: bool


def commit(group: Group, now_ms: int, event: OffsetCommitRequested, effects: Effects) -> None:
    """Write the offsets down, or say why not."""
    request = event.request
    creates_group, group.is_unwritten = group.is_unwritten, False
    if creates_group:
        note(group, effects, Happened.GROUP_CREATED, cause=Cause.COMMIT)
    error, keeps_session = OFFSET_COMMIT[group.state][situate_commit(group, request)]
    if error is not ErrorCode.NONE:
        effects.append(Reply(event.token, answers.commit_refused(request, error)))
        return
    if keeps_session:
        keep_alive(group.members[request.member_id], now_ms, effects)
    if event.is_too_large:
        _refuse_unwritten(group, event, ErrorCode.MESSAGE_TOO_LARGE, effects)
        if creates_group:
            end_unwritten(group, now_ms, WRITE_ERRORS[ErrorCode.MESSAGE_TOO_LARGE], effects)
        return
    committed: list[tuple[str, int, CommittedOffset]] = []
    records: list[Record] = []
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            index = partition.partition_index
            error = ErrorCode.NONE
            if _is_too_long(group, partition.committed_metadata):
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                offset = _committed_offset(now_ms, request.retention_time_ms, topic.topic_id, partition)
                committed.append((topic.name, index, offset))
                records.append(offset_record(group.group_id, topic.name, index, offset))
            partitions.append(OffsetCommitResponse.OffsetCommitResponsePartition(index, error))
        topics.append(OffsetCommitResponse.OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
    response = OffsetCommitResponse(0, topics)
    if not records:
        effects.append(Reply(event.token, response))
        return
    group.offset_writes += 1
    effects.append(Append(records, OffsetsWritten(event, response, committed, creates_group)))


def situate_commit(group: Group, request: OffsetCommitRequest) -> CommitSituation:
    """Who commits? Kafka: ClassicGroup.validateOffsetCommit."""
    generation_id = request.generation_id_or_member_epoch
    if generation_id < 0:
        names_nobody = not request.member_id and request.group_instance_id is None
        if names_nobody or group.state is GroupState.EMPTY:
            return CommitSituation.WITHOUT_GENERATION
    return _SITUATIONS[situate(group, request.member_id, request.group_instance_id, generation_id)]


_SITUATIONS: Final[Mapping[MemberSituation, CommitSituation]] = {
    situation: CommitSituation[situation.name] for situation in MemberSituation
}


def _is_too_long(group: Group, metadata: str | None) -> bool:
    """Kafka counts a string's UTF-16 units, though the setting's name says bytes."""
    if not metadata:
        return False
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


def _refuse_unwritten(group: Group, event: OffsetCommitRequested, error: ErrorCode, effects: Effects) -> None:
    answered = WRITE_ERRORS.get(error, error)
    effects.append(Reply(event.token, answers.commit_refused(event.request, answered)))
    note(group, effects, Happened.WRITE_FAILED, what="offsets", error=answered.name)


def offsets_written(group: Group, now_ms: int, written: OffsetsWritten, error: ErrorCode, effects: Effects) -> None:
    """The offsets are in the log: they count now. Or they are not, and none of them does."""
    group.offset_writes -= 1
    event = written.event
    if error is ErrorCode.NONE:
        for topic, partition, committed in written.committed:
            keep_offset(group, topic, partition, committed)
        effects.append(Reply(event.token, written.response))
    else:
        _refuse_unwritten(group, event, error, effects)
    if group.waiting_fetches:
        _answer_waiting(group, error, effects)
    if error is not ErrorCode.NONE and written.creates_group:
        end_unwritten(group, now_ms, WRITE_ERRORS.get(error, error), effects)


def fetch(group: Group, event: OffsetFetchRequested, effects: Effects) -> None:
    """Answer with what is committed; of stable offsets only when nothing is on its way."""
    if event.require_stable and group.offset_writes:
        group.waiting_fetches.append(event)
    else:
        effects.append(Reply(event.token, _fetched(group, event)))


def _answer_waiting(group: Group, error: ErrorCode, effects: Effects) -> None:
    """Answer fetches of stable offsets: all with the error of a write that failed, or when nothing is on its way."""
    if error is ErrorCode.NONE and group.offset_writes:
        return
    for event in group.waiting_fetches:
        if error is ErrorCode.NONE:
            response = _fetched(group, event)
        else:
            response = answers.fetch_refused(event, FETCH_WRITE_ERRORS.get(error, error))
        effects.append(Reply(event.token, response))
    group.waiting_fetches.clear()


def _fetched(group: Group, event: OffsetFetchRequested) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    """A group that is Dead has no offsets, and that is no error."""
    request = event.request
    if request.topics is None:
        topics = [
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name, ZERO_UUID, [_found(partition, committed) for partition, committed in partitions.items()]
            )
            for name, partitions in group.offsets.items()
        ]
    else:
        topics = [
            OffsetFetchResponse.OffsetFetchResponseTopics(
                topic.name,
                topic.topic_id,
                [_find(group, topic.name, topic.topic_id, partition) for partition in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    return OffsetFetchResponse.OffsetFetchResponseGroup(request.group_id, topics, ErrorCode.NONE)


def _find(
    group: Group, topic: str, topic_id: bytes, partition: int
) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    """What is committed there, unless it was for another topic of that name; an unknown id is any."""
    committed = group.offsets.get(topic, {}).get(partition)
    if committed is None or (ZERO_UUID not in {topic_id, committed.topic_id} and topic_id != committed.topic_id):
        return answers.no_offset(partition)
    return _found(partition, committed)


def _found(partition: int, committed: CommittedOffset) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
    return OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition, committed.offset, committed.leader_epoch, committed.metadata, ErrorCode.NONE
    )

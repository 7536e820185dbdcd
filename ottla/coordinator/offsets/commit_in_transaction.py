"""TxnOffsetCommit (api key 28), v0–v6: how far a group has read, committed with a producer's transaction.

What is written is pending until the transaction's marker comes (`pending`). All else is as with OffsetCommit.

Kafka: OffsetMetadataManager.commitTransactionalOffset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.notes import note
from ottla.coordinator.offsets import answers
from ottla.coordinator.offsets.commit import is_too_long
from ottla.coordinator.offsets.committed import CommittedOffset, TopicPartition
from ottla.coordinator.offsets.records import offset_record
from ottla.coordinator.runtime.effects import Append, Completion, Reply, Writer
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.write_errors import WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse

if TYPE_CHECKING:
    from ottla.coordinator.offsets.events import TxnOffsetCommitRequested
    from ottla.coordinator.offsets.group import AnyGroup
    from ottla.coordinator.runtime.effects import Effects
    from ottla.coordinator.runtime.records import Record

_Topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_Partition = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


@frozen
class PendingOffsetsWritten(Completion):
    """Offsets of an open transaction are in the log."""

    event: TxnOffsetCommitRequested
    response: TxnOffsetCommitResponse
    pending: list[tuple[TopicPartition, CommittedOffset]]
    creates_group: bool


def write_pending_offsets(
    group: AnyGroup, now_ms: int, event: TxnOffsetCommitRequested, creates_group: bool, effects: Effects
) -> None:
    """Write down the offsets of a commit that is allowed; `creates_group`: whether the group is there only for it."""
    request = event.request
    pending: list[tuple[TopicPartition, CommittedOffset]] = []
    records: list[Record] = []
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            index, metadata = partition.partition_index, partition.committed_metadata
            error = ErrorCode.NONE
            if metadata and is_too_long(group, metadata):
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                offset = CommittedOffset(
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata or "",
                    now_ms,
                    topic_id=topic.topic_id,
                )
                pending.append(((topic.name, index), offset))
                records.append(offset_record(group.group_id, topic.name, index, offset))
            partitions.append(_Partition(index, error))
        topics.append(_Topic(topic.name, topic.topic_id, partitions))
    response = TxnOffsetCommitResponse(0, topics)
    if not records:
        effects.append(Reply(event.token, response))
        return
    writer = Writer(request.producer_id, request.producer_epoch, event.verification)
    effects.append(Append(records, PendingOffsetsWritten(event, response, pending, creates_group), writer))


def keep_pending_offsets(group: AnyGroup, written: PendingOffsetsWritten, error: ErrorCode, effects: Effects) -> None:
    """They are in the log, and wait for the marker. Or they are not, and none of them does."""
    event = written.event
    if error is not ErrorCode.NONE:
        refuse_pending(group, event, error, effects)
        return
    for place, committed in written.pending:
        group.offsets.pending.add(event.request.producer_id, place, committed)
    effects.append(Reply(event.token, written.response))


def refuse_pending(group: AnyGroup, event: TxnOffsetCommitRequested, error: ErrorCode, effects: Effects) -> None:
    """The log does not take the offsets of this commit. A fenced producer is no failure of the log's."""
    answered = WRITE_ERRORS.get(error, error)
    effects.append(Reply(event.token, answers.transactional_commit_refused(event.request, answered)))
    if answered is not error:
        note(group, effects, GroupEvents.GROUP_WRITE_FAILED, what="offsets", error=answered.name)

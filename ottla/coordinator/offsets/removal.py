"""How offsets and groups go: OffsetDelete (api key 47), DeleteGroups (42), deleted topics, the sweep for what expired.

Each writes tombstones; once they are in the log, what they stand for is gone. A group that is Empty and keeps no
offsets goes with the next sweep, however young it is.

From when on an offset's retention counts depends on the group's state: `states.EXPIRY`. One with an expiry of its own
(OffsetCommit v2–v4) goes by that, under the same conditions. Topics that the group reads never expire.

Kafka: OffsetMetadataManager.deleteOffsets, deleteAllOffsets, cleanupExpiredOffsets, onTopicsDeleted;
GroupCoordinatorShard.deleteGroups, cleanupGroupMetadata.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.ending import end_deleted
from ottla.coordinator.classic.states import (
    DELETE_GROUP,
    EXPIRY,
    OFFSET_DELETE,
    Expiry,
    ExpirySituation,
    GroupKind,
    GroupState,
)
from ottla.coordinator.classic.subscription import CONSUMER, is_subscribed
from ottla.coordinator.notes import Cause, Happened, note
from ottla.coordinator.offsets.records import group_tombstone, offset_tombstone
from ottla.coordinator.offsets.store import NO_EXPIRY, CommittedOffset, all_offsets, drop_offset
from ottla.coordinator.runtime.effects import Append, Completion, Record, Reply
from ottla.coordinator.write_errors import WRITE_ERRORS
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from ottla.protocol.primitives import ZERO_UUID, Message

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import DeleteRequested, OffsetDeleteRequested, TopicsDeleted
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects

TopicPartition: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class TombstonesWritten(Completion):
    """These offsets, and perhaps the group, are deleted in the log."""

    removed: list[TopicPartition]
    cause: Cause
    ends_group: bool = False
    reply: Reply | None = None
    """The answer to whoever asked for it."""
    refused: Callable[[ErrorCode], Message] = answers.offset_delete_refused
    """What the answer becomes if it can't be written."""


def delete_offsets(group: Group, event: OffsetDeleteRequested, effects: Effects) -> None:
    """Delete the offsets of topics that the group does not read."""
    kind = GroupKind.CONSUMERS if group.protocol_type == CONSUMER else GroupKind.OTHERS
    error = OFFSET_DELETE[group.state][kind]
    if error is not ErrorCode.NONE:
        effects.append(Reply(event.token, answers.offset_delete_refused(error)))
        return
    removed: list[TopicPartition] = []
    topics = [_delete_topic(group, topic, removed) for topic in event.request.topics]
    reply = Reply(event.token, OffsetDeleteResponse(topics=topics))
    _write(group, TombstonesWritten(removed, Cause.REQUESTED, reply=reply), effects)


def _delete_topic(
    group: Group, topic: OffsetDeleteRequest.OffsetDeleteRequestTopic, removed: list[TopicPartition]
) -> OffsetDeleteResponse.OffsetDeleteResponseTopic:
    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed(group, topic.name) else ErrorCode.NONE
    if error is ErrorCode.NONE:
        committed = group.offsets.get(topic.name, {})
        removed += [(topic.name, p.partition_index) for p in topic.partitions if p.partition_index in committed]
    return OffsetDeleteResponse.OffsetDeleteResponseTopic(
        topic.name,
        [OffsetDeleteResponse.OffsetDeleteResponsePartition(p.partition_index, error) for p in topic.partitions],
    )


def delete_group(group: Group, event: DeleteRequested, effects: Effects) -> None:
    """Delete the group with all its offsets, if nobody is a member."""
    error = DELETE_GROUP[group.state]
    reply = Reply(event.token, answers.delete_answered(group.group_id, error))
    if error is not ErrorCode.NONE:
        effects.append(reply)
        return
    removed = [(topic, partition) for topic, partition, _ in all_offsets(group)]
    refused = partial(answers.delete_answered, group.group_id)
    _write(group, TombstonesWritten(removed, Cause.REQUESTED, True, reply, refused), effects)


def topics_deleted(group: Group, event: TopicsDeleted, effects: Effects) -> None:
    """Delete the offsets of topics that are gone; of a topic whose id was not known, by its name."""
    removed = [
        (topic, partition)
        for topic, topic_id in event.topic_ids.items()
        for partition, committed in group.offsets.get(topic, {}).items()
        if committed.topic_id in {ZERO_UUID, topic_id}
    ]
    _write(group, TombstonesWritten(removed, Cause.TOPICS_DELETED), effects)


def sweep(group: Group, now_ms: int, effects: Effects) -> None:
    """Delete what has expired, and the group if it has nothing left."""
    expired = [
        (topic, partition)
        for topic, partition, committed in all_offsets(group)
        if not is_subscribed(group, topic) and _is_expired(group, committed, now_ms)
    ]
    is_bare = len(expired) == sum(map(len, group.offsets.values())) and not group.offset_writes
    ends_group = is_bare and group.state is GroupState.EMPTY
    _write(group, TombstonesWritten(expired, Cause.RETENTION, ends_group), effects)


def situate_expiry(group: Group) -> ExpirySituation:
    """Whose offsets are these?"""
    if group.protocol_type is None:
        return ExpirySituation.SIMPLE
    is_known = group.protocol_type == CONSUMER and group.subscribed_topics is not None
    return ExpirySituation.CONSUMERS if is_known else ExpirySituation.OTHERS


def _is_expired(group: Group, committed: CommittedOffset, now_ms: int) -> bool:
    expiry = EXPIRY[group.state][situate_expiry(group)]
    if expiry is Expiry.NEVER:
        return False
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp_ms
    since_ms = committed.commit_timestamp_ms
    if expiry is Expiry.SINCE_EMPTY and group.state_timestamp_ms is not None:
        since_ms = group.state_timestamp_ms
    return now_ms - since_ms >= group.config.offsets_retention_ms


def _write(group: Group, completion: TombstonesWritten, effects: Effects) -> None:
    """Append the tombstones; if there is nothing to delete, answer at once."""
    records: list[Record] = [offset_tombstone(group.group_id, *offset) for offset in completion.removed]
    if completion.ends_group:
        records.append(group_tombstone(group.group_id))
    if records:
        effects.append(Append(records, completion))
    elif completion.reply is not None:
        effects.append(completion.reply)


def tombstones_written(
    group: Group, now_ms: int, written: TombstonesWritten, error: ErrorCode, effects: Effects
) -> None:
    """They are in the log, so it is gone; or nothing has changed, and the next sweep will try again."""
    reply = written.reply
    if error is not ErrorCode.NONE:
        answered = WRITE_ERRORS.get(error, error)
        note(group, effects, Happened.WRITE_FAILED, what="tombstones", error=answered.name)
        if reply is not None:
            reply.response = written.refused(answered)
    else:
        for topic, partition in written.removed:
            drop_offset(group, topic, partition)
        if written.removed:
            note(group, effects, Happened.OFFSETS_REMOVED, cause=written.cause, partitions=len(written.removed))
    if reply is not None:
        effects.append(reply)
    if error is ErrorCode.NONE and written.ends_group:
        end_deleted(group, now_ms, written.cause, effects)

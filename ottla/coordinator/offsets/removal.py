"""How offsets go: OffsetDelete (api key 47), DeleteGroups (42), deleted topics, the sweep for what expired.

Each writes tombstones; once they are in the log, what they stand for is gone, and what open transactions have committed
there goes with it. The tombstone of the group itself, where it goes too, is its kind's.

The sweep leaves alone what an open transaction has committed to, and so the group.

Kafka: OffsetMetadataManager.deleteOffsets, deleteAllOffsets, cleanupExpiredOffsets, onTopicsDeleted;
GroupCoordinatorShard.deleteGroups, cleanupGroupMetadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.coordinator.notes import Cause, note
from ottla.coordinator.offsets import answers
from ottla.coordinator.offsets.committed import CommittedOffset, TopicPartition
from ottla.coordinator.offsets.records import offset_tombstone
from ottla.coordinator.runtime.effects import Append, Completion, Reply
from ottla.coordinator.runtime.frozen import frozen
from ottla.coordinator.write_errors import WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.pacing import paced
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from ottla.protocol.primitives import ZERO_UUID, Message

if TYPE_CHECKING:
    from ottla.coordinator.offsets.events import DeleteRequested, OffsetDeleteRequested
    from ottla.coordinator.offsets.group import AnyGroup
    from ottla.coordinator.offsets.store import Offsets
    from ottla.coordinator.runtime.effects import Effects
    from ottla.coordinator.runtime.records import Record


#: Of tombstones that are written together, and what one has besides the names of its group and its topic.
_TOMBSTONES_BYTES: Final = 256 * 1024
_TOMBSTONE_BYTES: Final = 24


@frozen
class TombstonesWritten(Completion):
    """These offsets, and perhaps the group, are deleted in the log."""

    removed: list[TopicPartition]
    cause: Cause
    ends_group: bool = False
    reply: Reply | None = None
    """The answer to the request for it, if there was one."""
    refused: Callable[[ErrorCode], Message] = answers.offset_delete_refused
    """What is answered instead if it can't be written."""


def delete_offsets(
    group: AnyGroup, event: OffsetDeleteRequested, is_subscribed: Callable[[str], bool], effects: Effects
) -> None:
    """Delete offsets, but for those of topics that the group reads."""
    removed: list[TopicPartition] = []
    offsets, listed = group.offsets, paced(event.request.topics)
    topics = [_delete_topic(offsets, topic, is_subscribed(topic.name), removed) for topic in listed]
    reply = Reply(event.token, OffsetDeleteResponse(topics=topics))
    _write(group, TombstonesWritten(removed, Cause.REQUESTED, reply=reply), None, effects)


def _delete_topic(
    offsets: Offsets,
    topic: OffsetDeleteRequest.OffsetDeleteRequestTopic,
    is_subscribed: bool,
    removed: list[TopicPartition],
) -> OffsetDeleteResponse.OffsetDeleteResponseTopic:
    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
    if error is ErrorCode.NONE:
        committed = offsets.committed.get(topic.name, {})
        indexes = [partition.partition_index for partition in topic.partitions]
        removed += [(topic.name, i) for i in paced(indexes) if i in committed or offsets.is_pending(topic.name, i)]
    return OffsetDeleteResponse.OffsetDeleteResponseTopic(
        topic.name,
        [OffsetDeleteResponse.OffsetDeleteResponsePartition(p.partition_index, error) for p in paced(topic.partitions)],
    )


def delete_all(group: AnyGroup, event: DeleteRequested, group_tombstone: Record, effects: Effects) -> None:
    """Delete the group with all its offsets."""
    reply = Reply(event.token, answers.delete_answered(group.group_id, ErrorCode.NONE))
    refused = partial(answers.delete_answered, group.group_id)
    written = TombstonesWritten(group.offsets.places, Cause.REQUESTED, True, reply, refused)
    _write(group, written, group_tombstone, effects)


def topics_deleted(group: AnyGroup, topic_ids: Mapping[str, bytes], effects: Effects) -> None:
    """Delete the offsets of topics that are gone, ids by name; where the topic's id was not known, by its name."""
    offsets = group.offsets
    removed = [
        (topic, partition)
        for topic, partitions in offsets.committed.items()
        if (topic_id := topic_ids.get(topic)) is not None
        for partition, committed in partitions.items()
        if committed.topic_id in {ZERO_UUID, topic_id}
    ]
    removed += [
        (topic, partition)
        for (topic, partition), of_producer in offsets.pending.at.items()
        if topic in topic_ids
        and any(pending.committed.topic_id in {ZERO_UUID, topic_ids[topic]} for pending in of_producer.values())
    ]
    _write_in_parts(group, list(dict.fromkeys(removed)), Cause.TOPICS_DELETED, None, effects)


def sweep(
    group: AnyGroup,
    is_expired: Callable[[str, CommittedOffset], bool],
    group_tombstone: Record | None,
    effects: Effects,
) -> None:
    """Delete what has expired, and the group if it has nothing left.

    `is_expired` is asked for a topic and an offset; `group_tombstone`: None if the group stays whatever it has left.
    """
    expired = _find_expired(group, is_expired)
    _write_in_parts(group, expired, Cause.RETENTION, group_tombstone if _is_bare(group, expired) else None, effects)


def is_sweep_due(group: AnyGroup, is_expired: Callable[[str, CommittedOffset], bool], *, may_end: bool) -> bool:
    """Whether `sweep` would delete anything. `may_end`: the group goes when it has nothing left."""
    expired = _find_expired(group, is_expired)
    return bool(expired) or (may_end and _is_bare(group, expired))


def _find_expired(group: AnyGroup, is_expired: Callable[[str, CommittedOffset], bool]) -> list[TopicPartition]:
    return [
        (topic, partition)
        for topic, partition, committed in group.offsets
        if is_expired(topic, committed) and not group.offsets.is_pending(topic, partition)
    ]


def _is_bare(group: AnyGroup, expired: list[TopicPartition]) -> bool:
    """Whether nothing is left without what has expired."""
    offsets = group.offsets
    is_all = len(expired) == sum(map(len, offsets.committed.values()))
    return is_all and not offsets.writes and not offsets.pending.at


def _write_in_parts(
    group: AnyGroup, removed: list[TopicPartition], cause: Cause, group_tombstone: Record | None, effects: Effects
) -> None:
    """Append the tombstones in parts, of which each fits into a batch: what no request has asked for need not go all at
    once. The group's own goes last. Kafka: its CoordinatorResult is not atomic.
    """
    left = _TOMBSTONES_BYTES
    part: list[TopicPartition] = []
    for place in removed:
        size = len(group.group_id) + len(place[0]) + _TOMBSTONE_BYTES
        if part and size > left:
            _write(group, TombstonesWritten(part, cause), None, effects)
            part, left = [], _TOMBSTONES_BYTES
        left -= size
        part.append(place)
    _write(group, TombstonesWritten(part, cause, group_tombstone is not None), group_tombstone, effects)


def _write(group: AnyGroup, written: TombstonesWritten, group_tombstone: Record | None, effects: Effects) -> None:
    """Append the tombstones; if there is nothing to delete, answer at once."""
    records = [offset_tombstone(group.group_id, *place) for place in paced(written.removed)]
    if written.ends_group and group_tombstone is not None:
        records.append(group_tombstone)
    if records:
        effects.append(Append(records, written))
    elif written.reply is not None:
        effects.append(written.reply)


def tombstones_written(group: AnyGroup, written: TombstonesWritten, error: ErrorCode, effects: Effects) -> None:
    """They are in the log, so it is gone; or nothing has changed, and the next sweep will try again."""
    reply = written.reply
    if error is not ErrorCode.NONE:
        answered = WRITE_ERRORS.get(error, error)
        note(group, effects, GroupEvents.GROUP_WRITE_FAILED, what="tombstones", error=answered.name)
        if reply is not None:
            reply = Reply(reply.token, written.refused(answered))
    else:
        for topic, partition in paced(written.removed):
            group.offsets.drop(topic, partition)
        if written.removed:
            note(
                group, effects, GroupEvents.GROUP_OFFSETS_REMOVED, cause=written.cause, partitions=len(written.removed)
            )
    if reply is not None:
        effects.append(reply)

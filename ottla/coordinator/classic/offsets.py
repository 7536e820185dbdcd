"""What a classic group says about its offsets: which commits it takes, what expires, when they and the group may go.

A commit is checked once for the whole request (`decisions.OFFSET_COMMIT`): members commit in their generation, a client
may commit without one as long as the group is Empty. From when on an offset's retention counts depends on the group's
state: `decisions.EXPIRY`. Topics that the group reads never expire. A group that is Empty and keeps no offsets goes
with the next sweep, however young it is. All else is the same for groups of every kind: `coordinator/offsets/`.

Kafka: ClassicGroup.validateOffsetCommit, validateOffsetDelete, validateDeleteGroup, offsetExpirationCondition.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ottla.coordinator.classic.decisions import DELETE_GROUP, EXPIRY, OFFSET_COMMIT, OFFSET_DELETE, TXN_OFFSET_COMMIT
from ottla.coordinator.classic.ending import end_deleted, end_unwritten
from ottla.coordinator.classic.members import keep_alive
from ottla.coordinator.classic.records import group_tombstone
from ottla.coordinator.classic.situations import situate_commit, situate_expiry, situate_offset_delete
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.subscription import is_subscribed
from ottla.coordinator.notes import Cause, note
from ottla.coordinator.offsets import answers, removal
from ottla.coordinator.offsets.commit import keep_offsets, refuse_unwritten, write_offsets
from ottla.coordinator.offsets.commit_in_transaction import (
    keep_pending_offsets,
    refuse_pending,
    write_pending_offsets,
)
from ottla.coordinator.offsets.expiry import is_expired
from ottla.coordinator.runtime.effects import Reply
from ottla.coordinator.write_errors import WRITE_ERRORS
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.offsets.commit import OffsetsWritten
    from ottla.coordinator.offsets.commit_in_transaction import PendingOffsetsWritten
    from ottla.coordinator.offsets.committed import CommittedOffset
    from ottla.coordinator.offsets.events import (
        DeleteRequested,
        OffsetCommitRequested,
        OffsetDeleteRequested,
        TxnOffsetCommitRequested,
    )
    from ottla.coordinator.offsets.removal import TombstonesWritten
    from ottla.coordinator.runtime.effects import Effects


def commit_offsets(group: Group, now_ms: int, event: OffsetCommitRequested, effects: Effects) -> None:
    """Write the offsets down, or say why not."""
    request = event.request
    creates_group, group.is_unwritten = group.is_unwritten, False
    if creates_group:
        note(group, effects, GroupEvents.GROUP_CREATED, cause=Cause.COMMIT)
    error, keeps_session = OFFSET_COMMIT[group.state][situate_commit(group, request)]
    if error:
        effects.append(Reply(event.token, answers.commit_refused(request, error)))
        return
    if keeps_session:
        keep_alive(group.members[request.member_id], now_ms, effects)
    if event.is_too_large:
        refuse_unwritten(group, event, ErrorCode.MESSAGE_TOO_LARGE, effects)
        if creates_group:
            end_unwritten(group, now_ms, WRITE_ERRORS[ErrorCode.MESSAGE_TOO_LARGE], effects)
        return
    write_offsets(group, now_ms, event, creates_group, effects)


def offsets_written(group: Group, now_ms: int, written: OffsetsWritten, error: ErrorCode, effects: Effects) -> None:
    """The offsets are in the log; or they are not, and a group that was there only for them never was."""
    keep_offsets(group, written, error, effects)
    if error and written.creates_group:
        end_unwritten(group, now_ms, WRITE_ERRORS.get(error, error), effects)


def commit_offsets_in_transaction(group: Group, now_ms: int, event: TxnOffsetCommitRequested, effects: Effects) -> None:
    """Write the offsets down as part of the transaction, or say why not. No session goes on by it."""
    request = event.request
    creates_group, group.is_unwritten = group.is_unwritten, False
    if creates_group:
        note(group, effects, GroupEvents.GROUP_CREATED, cause=Cause.COMMIT)
    error = TXN_OFFSET_COMMIT[group.state][situate_commit(group, request)]
    if error is not ErrorCode.NONE:
        effects.append(Reply(event.token, answers.transactional_commit_refused(request, error)))
    elif event.is_too_large:
        refuse_pending(group, event, ErrorCode.MESSAGE_TOO_LARGE, effects)
        if creates_group:
            end_unwritten(group, now_ms, WRITE_ERRORS[ErrorCode.MESSAGE_TOO_LARGE], effects)
    else:
        write_pending_offsets(group, now_ms, event, creates_group, effects)


def pending_offsets_written(
    group: Group, now_ms: int, written: PendingOffsetsWritten, error: ErrorCode, effects: Effects
) -> None:
    """They are in the log, as part of the transaction; or a group that was there only for them never was."""
    keep_pending_offsets(group, written, error, effects)
    if error is not ErrorCode.NONE and written.creates_group:
        end_unwritten(group, now_ms, WRITE_ERRORS.get(error, error), effects)


def delete_offsets(group: Group, event: OffsetDeleteRequested, effects: Effects) -> None:
    """Delete the offsets of topics that the group does not read."""
    error = OFFSET_DELETE[group.state][situate_offset_delete(group)]
    if error is ErrorCode.NONE:
        removal.delete_offsets(group, event, partial(is_subscribed, group), effects)
    else:
        effects.append(Reply(event.token, answers.offset_delete_refused(error)))


def delete_group(group: Group, event: DeleteRequested, effects: Effects) -> None:
    """Delete the group with all its offsets, if it has no members."""
    error = DELETE_GROUP[group.state]
    if error is ErrorCode.NONE:
        removal.delete_all(group, event, group_tombstone(group.group_id), effects)
    else:
        effects.append(Reply(event.token, answers.delete_answered(group.group_id, error)))


def sweep(group: Group, now_ms: int, effects: Effects) -> None:
    """Delete what has expired, and the group if it has nothing left."""
    tombstone = group_tombstone(group.group_id) if group.state is GroupState.EMPTY else None
    removal.sweep(group, _expires(group, now_ms), tombstone, effects)


def is_sweep_due(group: Group, now_ms: int) -> bool:
    """Whether `sweep` would delete anything at this date."""
    return removal.is_sweep_due(group, _expires(group, now_ms), may_end=group.state is GroupState.EMPTY)


def _expires(group: Group, now_ms: int) -> Callable[[str, CommittedOffset], bool]:
    expiry = EXPIRY[group.state][situate_expiry(group)]
    retention_ms, since_ms = group.config.offsets_retention_ms, group.state_timestamp_ms
    return lambda topic, committed: (
        not is_subscribed(group, topic) and is_expired(committed, expiry, now_ms, retention_ms, since_ms)
    )


def tombstones_written(
    group: Group, now_ms: int, written: TombstonesWritten, error: ErrorCode, effects: Effects
) -> None:
    """They are in the log, and the group is gone if they are its own; or nothing has changed."""
    removal.tombstones_written(group, written, error, effects)
    if error is ErrorCode.NONE and written.ends_group:
        end_deleted(group, now_ms, written.cause, effects)

"""What a request is answered that never gets to a group: the coordinator, the partition or the group isn't there.

    NOT_STARTED, EMPTY_GROUP_ID, BAD_SESSION_TIMEOUT, NOT_COORDINATOR, LOADING, ABSENT      the first that applies
    counts; FAILED is for the request at which a group has met a bug

Made-up ids end here and leave nothing behind. Two requests create the group that is absent: a JoinGroup without
member id, and a commit without generation, in a transaction or not. Kafka: GroupCoordinatorService;
GroupIdNotFoundException elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.events import (
    DescribeRequested,
    HeartbeatRequested,
    JoinRequested,
    LeaveRequested,
    Request,
    SyncRequested,
)
from ottla.coordinator.offsets import answers as offset_answers
from ottla.coordinator.offsets.events import (
    DeleteRequested,
    OffsetCommitRequested,
    OffsetDeleteRequested,
    OffsetFetchRequested,
    TxnOffsetCommitRequested,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch import OffsetFetchResponse

if TYPE_CHECKING:
    from ottla.protocol.primitives import Message

_COMMIT_WITH_NOT_FOUND: Final = 9
_TRANSACTIONAL_COMMIT_WITH_NOT_FOUND: Final = 6


class Outside(Enum):
    """Why a request does not get to a group."""

    NOT_STARTED = "the coordinator is not running"
    EMPTY_GROUP_ID = 'the group id is ""'
    BAD_SESSION_TIMEOUT = "the session timeout is out of bounds"
    NOT_COORDINATOR = "another node coordinates the group"
    LOADING = "the coordinator is loading the group's partition"
    ABSENT = "the group does not exist"
    FAILED = "the request raised an exception in the group (a bug)"

    __hash__ = object.__hash__


_E = ErrorCode


def _row(empty_group_id: ErrorCode | None, absent: ErrorCode) -> dict[Outside, ErrorCode | None]:
    return {
        Outside.NOT_STARTED: _E.COORDINATOR_NOT_AVAILABLE,
        Outside.EMPTY_GROUP_ID: empty_group_id,
        Outside.BAD_SESSION_TIMEOUT: None,
        Outside.NOT_COORDINATOR: _E.NOT_COORDINATOR,
        Outside.LOADING: _E.COORDINATOR_LOAD_IN_PROGRESS,
        Outside.ABSENT: absent,
        Outside.FAILED: _E.UNKNOWN_SERVER_ERROR,
    }


#: What each request is answered; None: that is no reason to refuse it.
REFUSALS: Final[Mapping[type[Request], Mapping[Outside, ErrorCode | None]]] = {
    JoinRequested: {
        **_row(_E.INVALID_GROUP_ID, _E.UNKNOWN_MEMBER_ID),
        Outside.BAD_SESSION_TIMEOUT: _E.INVALID_SESSION_TIMEOUT,
    },
    SyncRequested: _row(_E.INVALID_GROUP_ID, _E.UNKNOWN_MEMBER_ID),
    # While the group is loading its members must not give up: each is told that all is well.
    HeartbeatRequested: {**_row(_E.INVALID_GROUP_ID, _E.UNKNOWN_MEMBER_ID), Outside.LOADING: _E.NONE},
    LeaveRequested: _row(_E.INVALID_GROUP_ID, _E.UNKNOWN_MEMBER_ID),
    # For these the group "" is as good as any: it is where consumers without a group id once kept their offsets.
    OffsetCommitRequested: _row(None, _E.GROUP_ID_NOT_FOUND),
    TxnOffsetCommitRequested: _row(_E.INVALID_GROUP_ID, _E.GROUP_ID_NOT_FOUND),
    OffsetFetchRequested: _row(None, _E.NONE),
    OffsetDeleteRequested: _row(_E.INVALID_GROUP_ID, _E.GROUP_ID_NOT_FOUND),
    DescribeRequested: _row(None, _E.GROUP_ID_NOT_FOUND),
    DeleteRequested: _row(None, _E.GROUP_ID_NOT_FOUND),
}


def creates_group(event: Request) -> bool:
    """Whether the group that is absent comes into being by this."""
    if isinstance(event, JoinRequested):
        return not event.request.member_id
    if isinstance(event, OffsetCommitRequested | TxnOffsetCommitRequested):
        return event.request.generation_id_or_member_epoch < 0
    return False


def refusal(group_id: str, event: Request, outside: Outside) -> Message:
    """The answer to a request that `REFUSALS` refuses."""
    error = REFUSALS[event.__class__][outside]
    assert error is not None
    return _SHAPES[event.__class__](group_id, event, outside, error)


def _join(_group_id: str, event: JoinRequested, outside: Outside, error: ErrorCode) -> Message:
    names_member = outside not in {Outside.NOT_COORDINATOR, Outside.LOADING}
    return answers.join_refused(event, error, event.request.member_id if names_member else "")


def _leave(_group_id: str, event: LeaveRequested, outside: Outside, error: ErrorCode) -> Message:
    """That a group is absent each member is told for itself."""
    if outside is Outside.ABSENT:
        return answers.leave_answered(event, [error] * len(answers.leave_members(event)))
    return answers.leave_refused(error)


def _commit(_group_id: str, event: OffsetCommitRequested, outside: Outside, error: ErrorCode) -> Message:
    if outside is Outside.ABSENT and event.api_version < _COMMIT_WITH_NOT_FOUND:
        error = ErrorCode.ILLEGAL_GENERATION
    return offset_answers.commit_refused(event.request, error)


def _transactional_commit(
    _group_id: str, event: TxnOffsetCommitRequested, outside: Outside, error: ErrorCode
) -> Message:
    if outside is Outside.ABSENT and event.api_version < _TRANSACTIONAL_COMMIT_WITH_NOT_FOUND:
        error = ErrorCode.ILLEGAL_GENERATION
    return offset_answers.transactional_commit_refused(event.request, error)


def _fetch(group_id: str, event: OffsetFetchRequested, outside: Outside, error: ErrorCode) -> Message:
    """A group that is absent has committed nothing, which is no error."""
    if outside is Outside.ABSENT:
        return OffsetFetchResponse.OffsetFetchResponseGroup(group_id, offset_answers.nothing_committed(event), error)
    return offset_answers.fetch_refused(event, error)


def _describe(group_id: str, event: DescribeRequested, outside: Outside, error: ErrorCode) -> Message:
    if outside is Outside.ABSENT:
        return answers.describe_not_found(group_id, event.api_version)
    return answers.describe_refused(group_id, error)


_SHAPES: Final[Mapping[type[Request], Callable[[str, Any, Outside, ErrorCode], Message]]] = {
    JoinRequested: _join,
    SyncRequested: lambda _group_id, _event, _outside, error: answers.sync_refused(error),
    HeartbeatRequested: lambda _group_id, _event, _outside, error: answers.HEARTBEATS[error],
    LeaveRequested: _leave,
    OffsetCommitRequested: _commit,
    TxnOffsetCommitRequested: _transactional_commit,
    OffsetFetchRequested: _fetch,
    OffsetDeleteRequested: lambda _group_id, _event, _outside, error: offset_answers.offset_delete_refused(error),
    DescribeRequested: _describe,
    DeleteRequested: lambda group_id, _event, _outside, error: offset_answers.delete_answered(group_id, error),
}

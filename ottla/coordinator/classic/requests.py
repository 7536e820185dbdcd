"""The requests that only classic groups take, and what they are answered where there is no such group.

A JoinGroup without member id makes the group that is absent. Kafka: GroupCoordinatorService, GroupMetadataManager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.events import (
    DescribeRequested,
    HeartbeatRequested,
    JoinRequested,
    LeaveRequested,
    SyncRequested,
)
from ottla.coordinator.kinds.outside import NO_GROUP, Outside, RequestRow, errors
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.config import GroupConfig
    from ottla.protocol.primitives import Message

_E = ErrorCode
_MEMBERS_ONLY: Final = errors(_E.INVALID_GROUP_ID, absent=_E.UNKNOWN_MEMBER_ID, other_kind=_E.UNKNOWN_MEMBER_ID)


def allows_session(event: JoinRequested, config: GroupConfig) -> bool:
    """Whether the session timeout of a new member is within the coordinator's bounds."""
    timeout_ms = event.request.session_timeout_ms
    return config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms


def _join(_group_id: str, event: JoinRequested, outside: Outside, error: ErrorCode) -> Message:
    names_member = outside not in {Outside.NOT_COORDINATOR, Outside.LOADING, Outside.OTHER_KIND}
    return answers.join_refused(event, error, event.request.member_id if names_member else "")


def _leave(_group_id: str, event: LeaveRequested, outside: Outside, error: ErrorCode) -> Message:
    """That a group is absent each member is told for itself."""
    if outside in NO_GROUP:
        return answers.leave_answered(event, [error] * len(answers.leave_members(event)))
    return answers.leave_refused(error)


def _describe(group_id: str, event: DescribeRequested, outside: Outside, error: ErrorCode) -> Message:
    if outside is Outside.ABSENT:
        return answers.describe_not_found(group_id, event.api_version)
    if outside is Outside.OTHER_KIND:
        return answers.describe_not_found(group_id, event.api_version, "is not a classic group")
    return answers.describe_refused(group_id, error)


REQUESTS: Final[Mapping[type, RequestRow]] = {
    JoinRequested: RequestRow(
        "JoinGroup",
        {
            **errors(_E.INVALID_GROUP_ID, absent=_E.UNKNOWN_MEMBER_ID, other_kind=_E.INCONSISTENT_GROUP_PROTOCOL),
            Outside.BAD_SESSION_TIMEOUT: _E.INVALID_SESSION_TIMEOUT,
        },
        _join,
        creates_group=lambda event: not event.request.member_id,
        allows_session=allows_session,
    ),
    SyncRequested: RequestRow(
        "SyncGroup", _MEMBERS_ONLY, lambda _group_id, _event, _outside, error: answers.sync_refused(error)
    ),
    HeartbeatRequested: RequestRow(
        "Heartbeat",
        # While the group is loading its members must not give up: each is told that all is well.
        {**_MEMBERS_ONLY, Outside.LOADING: _E.NONE},
        lambda _group_id, _event, _outside, error: answers.HEARTBEATS[error],
    ),
    LeaveRequested: RequestRow("LeaveGroup", _MEMBERS_ONLY, _leave),
    DescribeRequested: RequestRow(
        "DescribeGroups",
        errors(None, absent=_E.GROUP_ID_NOT_FOUND, other_kind=_E.GROUP_ID_NOT_FOUND),
        _describe,
    ),
}

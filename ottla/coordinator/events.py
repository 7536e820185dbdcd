"""What can happen to a group: requests, timers, appends that are done, and what the broker does to it.

Requests come as the broker's handlers decoded and checked them: authorized, with topics that exist. `token` is who is
to be answered. An event is no more than its data; `step` says what it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.effects import Completion, Token
    from ottla.protocol.errors import ErrorCode
    from ottla.protocol.messages.heartbeat import HeartbeatRequest
    from ottla.protocol.messages.join_group import JoinGroupRequest
    from ottla.protocol.messages.leave_group import LeaveGroupRequest
    from ottla.protocol.messages.offset_commit import OffsetCommitRequest
    from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
    from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
    from ottla.protocol.messages.sync_group import SyncGroupRequest


@dataclass(slots=True)
class JoinRequested:
    """Answered with a JoinGroupResponse, now or when the rebalance is through."""

    token: Token
    request: JoinGroupRequest
    api_version: int
    client_id: str
    client_host: str
    """As Kafka prints an address: "/127.0.0.1"."""


@dataclass(slots=True)
class SyncRequested:
    """Answered with a SyncGroupResponse, now or when the leader's assignment is written."""

    token: Token
    request: SyncGroupRequest


@dataclass(slots=True)
class HeartbeatRequested:
    """Answered with a HeartbeatResponse, which is shared: don't change it."""

    token: Token
    request: HeartbeatRequest


@dataclass(slots=True)
class LeaveRequested:
    """Answered with a LeaveGroupResponse in the shape of its version."""

    token: Token
    request: LeaveGroupRequest
    api_version: int


@dataclass(slots=True)
class OffsetCommitRequested:
    """Topics by name, and by id where the id is known. Answered with an OffsetCommitResponse of these topics.

    `is_too_large`: what would be written is more than the group log takes in one batch, so nobody need try.
    """

    token: Token
    request: OffsetCommitRequest
    api_version: int
    is_too_large: bool = False


@dataclass(slots=True)
class OffsetFetchRequested:
    """One group of an OffsetFetch; topics None: all. Answered with an OffsetFetchResponseGroup."""

    token: Token
    request: OffsetFetchRequest.OffsetFetchRequestGroup
    api_version: int
    require_stable: bool = False


@dataclass(slots=True)
class OffsetDeleteRequested:
    """Answered with an OffsetDeleteResponse of these topics."""

    token: Token
    request: OffsetDeleteRequest


@dataclass(slots=True)
class DescribeRequested:
    """One group of a DescribeGroups. Answered with a DescribedGroup."""

    token: Token
    api_version: int


@dataclass(slots=True)
class DeleteRequested:
    """One group of a DeleteGroups. Answered with a DeletableGroupResult."""

    token: Token


Request: TypeAlias = (
    JoinRequested
    | SyncRequested
    | HeartbeatRequested
    | LeaveRequested
    | OffsetCommitRequested
    | OffsetFetchRequested
    | OffsetDeleteRequested
    | DescribeRequested
    | DeleteRequested
)


@dataclass(slots=True)
class TimerExpired:
    """A timer armed under this key ran out and was neither moved nor stopped since."""

    timer_key: str


@dataclass(slots=True)
class AppendCompleted:
    """The records of an `Append` are in the log, or `error` says why not."""

    completion: Completion
    error: ErrorCode


@dataclass(slots=True)
class TopicsDeleted:
    """Topics were deleted: their ids by name. Offsets committed for them go."""

    topic_ids: Mapping[str, bytes]


@dataclass(slots=True)
class SweepDue:
    """Time to look for expired offsets, and for groups that are no longer needed."""


@dataclass(slots=True)
class Loaded:
    """The group has come back from the log and is coordinated here from now on."""


@dataclass(slots=True)
class Unloaded:
    """Another node coordinates the group from now on, or none."""


Event: TypeAlias = Request | TimerExpired | AppendCompleted | TopicsDeleted | SweepDue | Loaded | Unloaded

"""The shapes of answers: what a refusal and a success look like for each API, version by version where that matters.

The error is decided elsewhere; here is only what surrounds it. An error has the same form whether a group gives it, or
the request did not even get to a group (`groups/refusals.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_groups import DescribeGroupsResponse
from ottla.protocol.messages.heartbeat import HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.classic.events import JoinRequested, LeaveRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member

JoinMembers: TypeAlias = list[JoinGroupResponse.JoinGroupResponseMember]

_NULLABLE_PROTOCOL_NAME: Final = 7
_LEAVE_IN_BATCHES: Final = 3
_DESCRIBE_WITH_NOT_FOUND: Final = 6

#: Nothing but an error is in them, so all get the same.
HEARTBEATS: Final[Mapping[ErrorCode, HeartbeatResponse]] = {error: HeartbeatResponse(0, error) for error in ErrorCode}


# ── JoinGroup ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def join_refused(event: JoinRequested, error: ErrorCode, member_id: str) -> JoinGroupResponse:
    """`member_id`: what the answer says the member's id is, "" for none."""
    return JoinGroupResponse(
        error_code=error, generation_id=-1, protocol_name=_protocol_name(event, None), member_id=member_id
    )


def join_accepted(
    group: Group,
    event: JoinRequested,
    member_id: str,
    *,
    leader: str,
    members: JoinMembers | None = None,
    skip_assignment: bool = False,
    error: ErrorCode = ErrorCode.NONE,
) -> JoinGroupResponse:
    """The group's generation. `members` is for the leader only, which assigns."""
    return JoinGroupResponse(
        error_code=error,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=_protocol_name(event, group.protocol_name),
        leader=leader,
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def _protocol_name(event: JoinRequested, name: str | None) -> str | None:
    """Up to v6 no name is "", from v7 on "" is no name. Kafka: JoinGroupResponse."""
    return (name or "") if event.api_version < _NULLABLE_PROTOCOL_NAME else (name or None)


def join_members(group: Group) -> JoinMembers:
    """What the leader gets to see of all members, absent static ones included. In the order they came.

    Kafka: ClassicGroup.currentClassicGroupMembers. Its order is that of a hash map with random ids: any.
    """
    name = group.protocol_name or ""
    return [
        JoinGroupResponse.JoinGroupResponseMember(
            member.member_id, member.group_instance_id, member.metadata(name) or b""
        )
        for member in group.members.values()
    ]


# ── SyncGroup, LeaveGroup ─────────────────────────────────────────────────────────────────────────────────────────────


def sync_refused(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)


def sync_accepted(group: Group, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(0, ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)


def leave_members(event: LeaveRequested) -> list[LeaveGroupRequest.MemberIdentity]:
    """The members to remove: before v3 one, at the top of the request. Kafka: LeaveGroupRequest.normalizedData."""
    if event.api_version < _LEAVE_IN_BATCHES:
        return [LeaveGroupRequest.MemberIdentity(event.request.member_id)]
    return event.request.members


def leave_refused(error: ErrorCode) -> LeaveGroupResponse:
    """An error of the whole request."""
    return LeaveGroupResponse(error_code=error)


def leave_answered(event: LeaveRequested, errors: list[ErrorCode]) -> LeaveGroupResponse:
    """An answer for each member; before v3 the only one's error is the whole answer's."""
    if event.api_version < _LEAVE_IN_BATCHES:
        return LeaveGroupResponse(error_code=errors[0])
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.MemberResponse(identity.member_id, identity.group_instance_id, error)
            for identity, error in zip(event.request.members, errors, strict=True)
        ]
    )


# ── Groups as a whole ─────────────────────────────────────────────────────────────────────────────────────────────────


def describe_refused(group_id: str, error: ErrorCode) -> DescribeGroupsResponse.DescribedGroup:
    """Kafka: DescribeGroupsRequest.getErrorDescribedGroupList."""
    return DescribeGroupsResponse.DescribedGroup(error_code=error, group_id=group_id)


def describe_not_found(
    group_id: str, api_version: int, problem: str = "not found"
) -> DescribeGroupsResponse.DescribedGroup:
    """A group that isn't there is Dead; from v6 on that is an error too. Kafka: GroupMetadataManager.describeGroups."""
    if api_version < _DESCRIBE_WITH_NOT_FOUND:
        return DescribeGroupsResponse.DescribedGroup(group_id=group_id, group_state="Dead")
    return DescribeGroupsResponse.DescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message=f"Group {group_id} {problem}.",
        group_id=group_id,
        group_state="Dead",
    )

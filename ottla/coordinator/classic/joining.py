"""Who joins: what a JoinGroup says about its sender, and how it is turned away.

Kafka: acceptJoiningMember, classicGroupJoinNewMember, classicGroupJoinExistingMember in GroupMetadataManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.members import Member, drop_pending, remove, situate, start_session, unpark_join
from ottla.coordinator.classic.protocols import fits
from ottla.coordinator.classic.states import GroupState, JoinSituation, MemberSituation
from ottla.coordinator.notes import Cause, Happened, note
from ottla.coordinator.offsets.records import is_writable
from ottla.coordinator.runtime.effects import Effects, Reply
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.classic.events import JoinRequested
    from ottla.coordinator.classic.group import Group

_ID_FIRST: Final = 4
_UUID_CHARS: Final = 36


def situate_join(group: Group, event: JoinRequested) -> JoinSituation:
    """Who joins? The checks come in Kafka's order."""
    request = event.request
    if not _has_room(group, request.member_id):
        return JoinSituation.GROUP_FULL
    if not fits(group, request.protocol_type, request.protocols):
        return JoinSituation.OTHER_PROTOCOLS
    if not request.member_id:
        if request.group_instance_id is None:
            return JoinSituation.NEW_MEMBER if event.api_version >= _ID_FIRST else JoinSituation.NEW_MEMBER_BEFORE_V4
        if request.group_instance_id in group.static_members:
            return JoinSituation.RETURNING_STATIC_MEMBER
        return JoinSituation.NEW_STATIC_MEMBER
    if request.member_id in group.pending_joins:
        is_static = request.group_instance_id is not None
        return JoinSituation.PENDING_STATIC_MEMBER if is_static else JoinSituation.PENDING_MEMBER
    who = situate(group, request.member_id, request.group_instance_id, group.generation_id)
    if who is not MemberSituation.CURRENT:
        return _STRANGERS[who]
    is_leader = group.leader_id == request.member_id
    if group.members[request.member_id].protocols == request.protocols:
        return JoinSituation.LEADER_UNCHANGED if is_leader else JoinSituation.FOLLOWER_UNCHANGED
    return JoinSituation.LEADER_CHANGED if is_leader else JoinSituation.FOLLOWER_CHANGED


_STRANGERS: Final[Mapping[MemberSituation, JoinSituation]] = {
    MemberSituation.UNKNOWN_INSTANCE: JoinSituation.UNKNOWN_INSTANCE,
    MemberSituation.FENCED_INSTANCE: JoinSituation.FENCED_INSTANCE,
    MemberSituation.UNKNOWN_MEMBER: JoinSituation.UNKNOWN_MEMBER,
}


def _has_room(group: Group, member_id: str) -> bool:
    """Whether group.max.size lets this one in. Kafka: acceptJoiningMember.

    While members join, those count that are back: so if the limit was lowered the last to come back find no room.
    """
    if group.state in {GroupState.EMPTY, GroupState.DEAD}:
        return True
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        is_back = member is not None and member.parked_join is not None
        return is_back or group.parked_joins < group.config.group_max_size
    return member is not None or len(group.members) < group.config.group_max_size


# ── What it says ──────────────────────────────────────────────────────────────────────────────────────────────────────


def new_member_id(group: Group, event: JoinRequested) -> str:
    """Kafka: ClassicGroup.generateMemberId."""
    name = event.request.group_instance_id
    return f"{event.client_id if name is None else name}-{group.new_uuid()}"


def rebalance_timeout_ms(event: JoinRequested) -> int:
    """v0 has only one timeout. Kafka: JoinGroupRequest.maybeOverrideRebalanceTimeout."""
    return event.request.session_timeout_ms if event.api_version == 0 else event.request.rebalance_timeout_ms


def has_writable_names(event: JoinRequested) -> bool:
    """Whether its strings fit into a record. Kafka finds that out when it writes, and answers the same then."""
    request = event.request
    name = event.client_id if request.group_instance_id is None else request.group_instance_id
    return (
        is_writable(name + "-" * (_UUID_CHARS + 1))
        and is_writable(request.protocol_type)
        and all(is_writable(protocol.name) for protocol in request.protocols)
    )


# ── Turned away ───────────────────────────────────────────────────────────────────────────────────────────────────────


def refuse(group: Group, event: JoinRequested, error: ErrorCode, effects: Effects) -> None:
    """Answer with an error. Whoever finds no room is no member any more either, nor is its id known."""
    member_id = event.request.member_id
    if error is ErrorCode.GROUP_MAX_SIZE_REACHED:
        _put_out(group, member_id, effects)
        member_id = ""
    elif error is ErrorCode.UNKNOWN_SERVER_ERROR:
        member_id = ""
    effects.append(Reply(event.token, answers.join_refused(event, error, member_id)))
    note(
        group,
        effects,
        Happened.JOIN_REFUSED,
        member_id=event.request.member_id,
        client_id=event.client_id,
        client_host=event.client_host,
        error=error.name,
    )


def _put_out(group: Group, member_id: str, effects: Effects) -> None:
    if member_id in group.pending_joins:
        drop_pending(group, member_id, effects)
    elif (member := group.members.get(member_id)) is not None:
        remove(group, member, effects)
    else:
        return
    note(group, effects, Happened.MEMBER_REMOVED, member_id=member_id, cause=Cause.GROUP_FULL)


def give_up(group: Group, now_ms: int, member: Member, event: JoinRequested, effects: Effects) -> None:
    """This JoinGroup made it impossible to choose a protocol, for somebody lists one twice; an exception in Kafka."""
    unpark_join(group, member)
    if member.deadline_ms is None:
        start_session(member, now_ms, member.session_timeout_ms, effects)
    refuse(group, event, ErrorCode.UNKNOWN_SERVER_ERROR, effects)

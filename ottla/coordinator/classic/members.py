"""What a group keeps of its members: that they come and go, when their sessions end, what is parked.

They keep right the map of instances, the counts of supported protocols and of parked JoinGroups, the leader. A
*pending* id was handed out and is no member yet (KIP-394): it counts for nothing but keeps a rebalance waiting for it.

Kafka: add, remove, updateMember, replaceStaticMember in ClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.protocols import count_in, count_out
from ottla.coordinator.classic.timers import session_timer
from ottla.coordinator.runtime.effects import Arm, Disarm, Reply
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import JoinRequested, SyncRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member, Protocols
    from ottla.coordinator.runtime.effects import Effects


# ── Coming and going ──────────────────────────────────────────────────────────────────────────────────────────────────


def add(group: Group, member: Member, protocol_type: str | None) -> None:
    """Make it a member. The first one decides the group's protocol type, and leads."""
    assert member.member_id not in group.members
    if member.group_instance_id is not None:
        assert member.group_instance_id not in group.static_members
        group.static_members[member.group_instance_id] = member.member_id
    if not group.members:
        group.protocol_type = protocol_type
    if group.leader_id is None:
        group.leader_id = member.member_id
    group.members[member.member_id] = member
    count_in(group.supported_protocols, member.protocols)


def remove(group: Group, member: Member, effects: Effects) -> None:
    """Remove a member; what it waits for is answered UNKNOWN_MEMBER_ID.

    Kafka answers a parked JoinGroup only, and leaves a parked SyncGroup waiting for ever: docs/differences.md.
    """
    refuse_join(group, member, ErrorCode.UNKNOWN_MEMBER_ID, "", effects)
    refuse_sync(member, ErrorCode.UNKNOWN_MEMBER_ID, effects)
    stop_session(member, effects)
    del group.members[member.member_id]
    count_out(group.supported_protocols, member.protocols)
    if member.group_instance_id is not None:
        del group.static_members[member.group_instance_id]
    if group.leader_id == member.member_id:
        group.leader_id = next(iter(group.members), None)
    group.pending_syncs.pop(member.member_id, None)


def update(
    group: Group, member: Member, protocols: Protocols, session_timeout_ms: int, rebalance_timeout_ms: int
) -> None:
    """Take over what a member says now. Its client id and host stay what they were at first."""
    count_out(group.supported_protocols, member.protocols)
    count_in(group.supported_protocols, protocols)
    member.protocols = protocols
    member.session_timeout_ms = session_timeout_ms
    member.rebalance_timeout_ms = rebalance_timeout_ms


def replace_id(group: Group, member: Member, member_id: str, effects: Effects) -> None:
    """Give a static member another id. What the holder of the old id waits for is answered FENCED_INSTANCE_ID.

    As in Kafka, a sync that the old id still owes stays owed by the old id, and so can't be given any more: when the
    sync timer runs out there is a rebalance, although no member is missing.
    """
    assert member.group_instance_id is not None
    refuse_join(group, member, ErrorCode.FENCED_INSTANCE_ID, member.member_id, effects)
    refuse_sync(member, ErrorCode.FENCED_INSTANCE_ID, effects)
    stop_session(member, effects)
    member.is_new = False
    del group.members[member.member_id]
    if group.leader_id == member.member_id:
        group.leader_id = member_id
    member.member_id = member_id
    member.timer_key = session_timer(member_id)
    group.members[member_id] = member
    group.static_members[member.group_instance_id] = member_id


# ── Pending ids ───────────────────────────────────────────────────────────────────────────────────────────────────────


def add_pending(group: Group, member_id: str, deadline_ms: int, effects: Effects) -> None:
    """Remember an id that was handed out, for as long as a session would last."""
    group.pending_joins[member_id] = deadline_ms
    effects.append(Arm(session_timer(member_id), deadline_ms))


def drop_pending(group: Group, member_id: str, effects: Effects) -> None:
    """Forget an id that was handed out."""
    del group.pending_joins[member_id]
    effects.append(Disarm(session_timer(member_id)))


# ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def start_session(member: Member, now_ms: int, timeout_ms: int, effects: Effects) -> None:
    """Let the member live for `timeout_ms` from now."""
    deadline_ms = now_ms + timeout_ms
    member.deadline_ms = deadline_ms
    effects.append(Arm(member.timer_key, deadline_ms))


def keep_alive(member: Member, now_ms: int, effects: Effects) -> None:
    """Begin the session anew, for a sign of life. Several of them within a millisecond move its timer once."""
    if member.deadline_ms != now_ms + member.session_timeout_ms:
        start_session(member, now_ms, member.session_timeout_ms, effects)


def silent_ms(member: Member, now_ms: int) -> int | None:
    """How long ago its session last began anew; None: it is new, or its timer ran out while it was parked."""
    if member.is_new or member.deadline_ms is None:
        return None
    return now_ms - (member.deadline_ms - member.session_timeout_ms)


def stop_session(member: Member, effects: Effects) -> None:
    """Stop the member's timer, if it runs."""
    if member.deadline_ms is not None:
        member.deadline_ms = None
        effects.append(Disarm(member.timer_key))


# ── Parked requests ───────────────────────────────────────────────────────────────────────────────────────────────────


def park_join(group: Group, member: Member, event: JoinRequested, effects: Effects) -> None:
    """Let a JoinGroup wait for the end of the join phase. One that the member sent before is answered now.

    Kafka never answers the one before: docs/differences.md.
    """
    refuse_join(group, member, ErrorCode.COORDINATOR_NOT_AVAILABLE, member.member_id, effects)
    member.parked_join = event
    group.parked_joins += 1


def unpark_join(group: Group, member: Member) -> JoinRequested | None:
    """Take back the member's parked JoinGroup, if it has one, for the caller to answer."""
    parked = member.parked_join
    if parked is not None:
        member.parked_join = None
        group.parked_joins -= 1
    return parked


def refuse_join(group: Group, member: Member, error: ErrorCode, member_id: str, effects: Effects) -> None:
    """Answer the member's parked JoinGroup, if it has one, with an error."""
    if (parked := unpark_join(group, member)) is not None:
        effects.append(Reply(parked.token, answers.join_refused(parked, error, member_id)))


def park_sync(member: Member, event: SyncRequested, effects: Effects) -> None:
    """Let a SyncGroup wait for the leader's. One that the member sent before is answered now, unlike in Kafka."""
    refuse_sync(member, ErrorCode.REBALANCE_IN_PROGRESS, effects)
    member.parked_sync = event


def unpark_sync(member: Member) -> SyncRequested | None:
    """Take back the member's parked SyncGroup, if it has one, for the caller to answer."""
    parked = member.parked_sync
    member.parked_sync = None
    return parked


def refuse_sync(member: Member, error: ErrorCode, effects: Effects) -> bool:
    """Answer the member's parked SyncGroup, if it has one, with an error; True: it had."""
    if (parked := unpark_sync(member)) is None:
        return False
    effects.append(Reply(parked.token, answers.sync_refused(error)))
    return True

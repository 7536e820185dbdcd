"""Members: who they are, what they support, what they wait for, until when they live.

A *dynamic* member is known by the member id it was given. A *static* one has a group instance id as well, by which it
is recognised after a restart (KIP-345). A *pending* id was handed out and is no member yet (KIP-394): it counts for
nothing but keeps a rebalance waiting for it. A *new* member has not seen an answer to its JoinGroup, cannot beat, and
so lives by a fixed timeout; everybody else lives by the session timeout, and parked requests keep their members
alive.

The functions here keep a group's books about members right: the map of instances, the counts of supported protocols and
of parked JoinGroups, the leader. Kafka: ClassicGroupMember, and add, remove, updateMember, replaceStaticMember in
ClassicGroup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ottla.coordinator.classic import answers
from ottla.coordinator.classic.protocols import count_in, count_out
from ottla.coordinator.classic.states import MemberSituation
from ottla.coordinator.runtime.effects import Arm, Disarm, Reply, session_timer
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group import JoinGroupRequest

if TYPE_CHECKING:
    from ottla.coordinator.classic.events import JoinRequested, SyncRequested
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.runtime.effects import Effects

#: What a member supports, most liked first: name and metadata. A name may come twice, as in Kafka.
Protocols: TypeAlias = list[JoinGroupRequest.JoinGroupRequestProtocol]


@dataclass(slots=True, eq=False)
class Member:
    """A member of a group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    parked_join: JoinRequested | None = None
    """Its JoinGroup, which the end of the join phase answers."""
    parked_sync: SyncRequested | None = None
    """Its SyncGroup, which the leader's assignment answers."""
    deadline_ms: int | None = None
    """When its session ends; None: the timer ran out while it was parked, and the next sign of life arms it."""
    timer_key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.timer_key = session_timer(self.member_id)

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_kept_alive(self) -> bool:
        """Whether its session cannot end now. Kafka: ClassicGroupMember.hasSatisfiedHeartbeat."""
        return not self.is_new and (self.parked_join is not None or self.parked_sync is not None)

    def metadata(self, protocol_name: str) -> bytes | None:
        """What it says under this protocol; None: it does not support it. Of a name given twice the first counts."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return None


def situate(group: Group, member_id: str, group_instance_id: str | None, generation_id: int) -> MemberSituation:
    """Who sends this? Kafka: ClassicGroup.validateMember, and the check of the generation that follows it."""
    if group_instance_id is not None:
        holder = group.static_members.get(group_instance_id)
        if holder is None:
            return MemberSituation.UNKNOWN_INSTANCE
        if holder != member_id:
            return MemberSituation.FENCED_INSTANCE
    if member_id not in group.members:
        return MemberSituation.UNKNOWN_MEMBER
    if generation_id != group.generation_id:
        return MemberSituation.OTHER_GENERATION
    return MemberSituation.CURRENT


# ── Coming and going ──────────────────────────────────────────────────────────────────────────────────────────────────


def add(group: Group, member: Member, protocol_type: str | None) -> None:
    """Make somebody a member. The first one decides the group's protocol type, and leads."""
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
    """Remove a member; whatever it waits for is answered: it is nobody here any more.

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
    sync timer runs out there is a rebalance, although nobody is missing.
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

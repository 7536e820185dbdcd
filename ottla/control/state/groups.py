"""A group as it is now: its members and what each of them reads, what is committed, and how much is left to read.

What members tell each other is decoded where they are consumers; of others it is nobody's business, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias

from ottla.protocol.consumer import PROTOCOL_TYPE, read_assignment, read_subscribed_topics
from ottla.protocol.primitives import DecodeError

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.classic.group import Group
    from ottla.coordinator.classic.member import Member

#: (topic, partition).
Place: TypeAlias = tuple[str, int]

#: What a group that nobody has is said to be, as DescribeGroups says it.
DEAD: Final = "Dead"


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    subscription: tuple[str, ...]
    """The topics it wants to read."""
    assignment: Mapping[str, tuple[int, ...]]
    """What it was given: partitions by topic. Empty until the group is Stable."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    last_heartbeat_ms: int | None
    """When its session last began anew, as a date; None: it has joined just now, or waits for an answer."""

    @property
    def names(self) -> tuple[str, ...]:
        """By which a test may call it."""
        return self.member_id, self.group_instance_id or "", self.client_id


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group. One that does not exist is Dead, as Kafka has it."""

    group_id: str
    state: str = DEAD
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    """Its member id."""
    coordinator: int | None = None
    """The node that coordinates it."""
    members: tuple[MemberView, ...] = ()
    committed: Mapping[Place, int] = field(default_factory=dict)
    """Where it goes on to read, by (topic, partition)."""
    lag: Mapping[Place, int] = field(default_factory=dict)
    """How many offsets are behind that, by (topic, partition). Where nothing is committed there is no telling."""
    unassigned: tuple[Place, ...] = ()
    """Partitions of topics that members want to read, and that none of them was given."""

    @property
    def total_lag(self) -> int:
        """Over all partitions."""
        return sum(self.lag.values())

    @property
    def assigned(self) -> frozenset[Place]:
        """What members were given, taken together."""
        return frozenset(
            (topic, index)
            for member in self.members
            for topic, indexes in member.assignment.items()
            for index in indexes
        )

    def member(self, name: str) -> MemberView:
        """The one with this member id, group instance id or client id; a `*` stands for anything.

        Raises `LookupError` if there is none, or more than one.
        """
        found = [one for one in self.members if any(fnmatchcase(text, name) for text in one.names)]
        if len(found) != 1:
            raise LookupError(f"{len(found) or 'no'} members are called {name}; {self}")
        return found[0]

    def __str__(self) -> str:
        if self.coordinator is None:
            return f"there is no group {self.group_id}"
        members = ", ".join(member.member_id for member in self.members) or "nobody"
        return (
            f"group {self.group_id} is {self.state} in generation {self.generation_id}, "
            f"with {len(self.members)} {'member' if len(self.members) == 1 else 'members'}: {members}"
        )


def look_at_group(services: Services, cluster: Cluster, group_id: str) -> GroupView:
    """The group of this id."""
    for node_id, coordinator in services.group_coordination.of_node.items():
        owner = coordinator.runtime.owners.get(group_id)
        if owner is not None:
            return view_of(owner.machine, node_id, cluster)
    return GroupView(group_id)


def look_at_groups(services: Services, cluster: Cluster) -> list[GroupView]:
    """All groups there are, by their ids."""
    views = [
        view_of(group, node_id, cluster)
        for node_id, coordinator in services.group_coordination.of_node.items()
        for group in coordinator.groups
    ]
    return sorted(views, key=lambda view: view.group_id)


def view_of(group: Group, node_id: int, cluster: Cluster) -> GroupView:
    """What this node's group looks like."""
    committed = {(topic, index): offset.offset for topic, index, offset in group.offsets}
    members = tuple(_member(member, group.protocol_type) for member in group.members.values())
    return GroupView(
        group.group_id,
        group.state.value,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader_id,
        node_id,
        members,
        committed,
        {place: lag for place, offset in committed.items() if (lag := _lag(cluster, place, offset)) is not None},
        tuple(_unassigned(cluster, members)),
    )


def _unassigned(cluster: Cluster, members: Sequence[MemberView]) -> Iterator[Place]:
    given = {(topic, index) for m in members for topic, indexes in m.assignment.items() for index in indexes}
    for name in sorted({topic for member in members for topic in member.subscription}):
        topic = cluster.topics.get(name)
        for index in range(len(topic.partitions) if topic is not None else 0):
            if (name, index) not in given:
                yield name, index


def _member(member: Member, protocol_type: str | None) -> MemberView:
    is_consumer = protocol_type == PROTOCOL_TYPE
    return MemberView(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        _subscription(member) if is_consumer else (),
        _assignment(member) if is_consumer else {},
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        None if member.deadline_ms is None or member.is_new else member.deadline_ms - member.session_timeout_ms,
    )


def _subscription(member: Member) -> tuple[str, ...]:
    """By its first protocol: all of them say the same."""
    try:
        return tuple(read_subscribed_topics(member.protocols[0].metadata)) if member.protocols else ()
    except DecodeError:
        return ()


def _assignment(member: Member) -> dict[str, tuple[int, ...]]:
    try:
        assigned = read_assignment(member.assignment).assigned_partitions
    except DecodeError:
        return {}
    return {topic.topic: tuple(topic.partitions) for topic in assigned}


def _lag(cluster: Cluster, place: Place, offset: int) -> int | None:
    """None: the partition is gone."""
    name, index = place
    topic = cluster.topics.get(name)
    if topic is None or index >= len(topic.partitions):
        return None
    return max(0, topic.partitions[index].high_watermark - offset)

"""A group of any kind as it is now: members and what each of them reads, what is committed, how much is left to read.

What its kind knows comes from the kind's row (`coordinator.kinds`). What the cluster knows is added here: the node that
coordinates it, its lag, and partitions that no member was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from ottla.broker.node.services import Services
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.kinds.kind import Group, GroupKind
    from ottla.coordinator.kinds.view import MemberView, WaitsFor

#: (topic, partition).
Place: TypeAlias = tuple[str, int]

#: What a group that nobody has is said to be, as DescribeGroups says it.
DEAD: Final = "Dead"


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
    """How many offsets are left to read, by (topic, partition): in all topics that it has committed or subscribes to.
    Where nothing is committed, they count from the log start, as a consumer with `auto.offset.reset=earliest` reads."""
    unassigned: tuple[Place, ...] = ()
    """Partitions of topics that members want to read, and that none of them was given."""
    waits_for: WaitsFor | None = None
    """What has to come before it goes on; None: nothing but its members' next requests."""

    @property
    def total_lag(self) -> int:
        """Over all partitions."""
        return sum(self.lag.values())

    @property
    def uncommitted(self) -> tuple[Place, ...]:
        """Partitions with a lag and no committed offset."""
        return tuple(place for place in self.lag if place not in self.committed)

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
            return _view_of(owner.machine, coordinator.kind_of(owner.machine), node_id, cluster)
    return GroupView(group_id)


def look_at_groups(services: Services, cluster: Cluster, *, only_rebalancing: bool = False) -> list[GroupView]:
    """All groups there are, by their ids; or only those between two generations."""
    found = [
        (group, coordinator.kind_of(group), node_id)
        for node_id, coordinator in services.group_coordination.of_node.items()
        for group in coordinator.groups
    ]
    views = [
        _view_of(group, kind, node_id, cluster)
        for group, kind, node_id in found
        if not only_rebalancing or group.state in kind.rebalancing
    ]
    return sorted(views, key=lambda view: view.group_id)


def _view_of(group: Group, kind: GroupKind[Any], node_id: int, cluster: Cluster) -> GroupView:
    """What this node's group looks like."""
    committed = {(topic, index): offset.offset for topic, index, offset in group.offsets}
    members = kind.members(group)
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
        _lags(cluster, committed, members),
        tuple(_unassigned(cluster, members)),
        kind.waits_for(group),
    )


def _unassigned(cluster: Cluster, members: Sequence[MemberView]) -> Iterator[Place]:
    given = {(topic, index) for m in members for topic, indexes in m.assignment.items() for index in indexes}
    for name in sorted({topic for member in members for topic in member.subscription}):
        topic = cluster.topics.get(name)
        for index in range(len(topic.partitions) if topic is not None else 0):
            if (name, index) not in given:
                yield name, index


def _lags(cluster: Cluster, committed: Mapping[Place, int], members: Sequence[MemberView]) -> dict[Place, int]:
    """Of every partition of the topics that are committed or subscribed to, where they still exist."""
    names = {name for name, _ in committed} | {name for member in members for name in member.subscription}
    return {
        (name, log.index): max(0, log.high_watermark - committed.get((name, log.index), log.log_start_offset))
        for name in sorted(names & cluster.topics.keys())
        for log in cluster.topics[name].partitions
    }

"""A topic: its name and id, its configs, its partitions and where they are.

`partitions` are the logs, `placements` say which nodes hold them; both are lists by partition number and of the same
length. There is one log for all replicas, so a replica is in sync as long as its node is up. How placements change is
told in `election`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from ottla.events.kind import Kind
from ottla.pacing import paced

if TYPE_CHECKING:
    from ottla.events.stream import Stream
    from ottla.log.config import LogConfig
    from ottla.log.logs import Logs
    from ottla.log.partition import Partition
    from ottla.settings.settings import Settings

T = TypeVar("T")

#: The config that requests which wait for replicas depend on.
_MIN_INSYNC: Final = "min.insync.replicas"
NO_LEADER: Final = -1
#: Making or deleting up to 64 partitions takes a millisecond or two.
_FEW_PARTITIONS: Final = 64


@dataclass(slots=True)
class Placement:
    """Where one partition is: the nodes that hold it, the preferred leader first, and their roles now."""

    replicas: list[int]
    #: -1: none of them leads.
    leader_id: int
    #: In-sync replicas.
    isr: list[int]
    #: Eligible leader replicas: not in sync, though they have all that was acknowledged.
    elr: list[int] = field(default_factory=list)
    #: While there is no leader: the last one. A list, as Kafka answers it.
    last_known_elr: list[int] = field(default_factory=list)
    #: During a reassignment: the replicas that are being added, and those that are being removed.
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    #: The nodes it was assigned to, while none of them exists: then `replicas` is one other node.
    absent: list[int] = field(default_factory=list, compare=False)

    @property
    def assigned(self) -> list[int]:
        """The nodes it is assigned to, whether they exist or not."""
        if self.removing:
            return [replica for replica in self.replicas if replica not in self.removing]
        return self.absent or self.replicas

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def has_preferred_leader(self) -> bool:
        return self.leader_id == self.replicas[0]

    def become(self, other: Placement) -> None:
        """Take the values of `other`. Waiting operations refer to this object, so it is not replaced."""
        if self.replicas != other.replicas:
            self.replicas, self.absent = other.replicas, []
        self.adding, self.removing = other.adding, other.removing
        self.leader_id, self.isr, self.elr, self.last_known_elr = (
            other.leader_id,
            other.isr,
            other.elr,
            other.last_known_elr,
        )

    def min_isr(self, min_insync_replicas: int) -> int:
        """How many replicas must be in sync: at most as many as there are."""
        return min(min_insync_replicas, len(self.replicas))

    def has_too_few_in_sync(self, min_insync_replicas: int) -> bool:
        """Whether acks=all is refused."""
        in_sync = len(self.isr)
        return in_sync < min_insync_replicas and in_sync < len(self.replicas)


@dataclass(slots=True)
class OpenedPartitions:
    """New partitions, opened and not yet part of their topic."""

    #: What they were opened with: nodes and settings. None: these can't change before the partitions are added.
    basis: object
    logs: list[Partition] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)


class TopicCluster(Protocol):
    """What a topic needs of the cluster it is in."""

    @property
    def settings(self) -> Settings:
        """The settings behind the topic's own configs."""

    @property
    def logs(self) -> Logs:
        """Where its partitions' logs are opened."""

    @property
    def events(self) -> Stream:
        """The stream that changes are told to."""

    @property
    def all_nodes(self) -> Mapping[int, object]:
        """All nodes by id, up or down."""

    @property
    def nodes(self) -> Mapping[int, object]:
        """The nodes that may lead: those that are up, and those whose failure is not detected yet."""

    @property
    def silent_node_ids(self) -> Set[int]:
        """The nodes of `nodes` that are down."""

    def keep_topic(self, name: str, topic_id: bytes, configs: Mapping[str, str], replicas: Sequence[list[int]]) -> None:
        """Store a topic before it is made or changed. Raises `Refused` on failure."""


class Topic:
    """A topic of the cluster. `configs` are its own configs, as text; see `topic_configs`."""

    __slots__ = ("_cluster", "configs", "is_internal", "name", "partitions", "placements", "topic_id")

    def __init__(
        self, name: str, topic_id: bytes, configs: Mapping[str, str], cluster: TopicCluster, *, is_internal: bool
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.configs = dict(configs)
        self.is_internal = is_internal
        self.partitions: list[Partition] = []
        self.placements: list[Placement] = []
        self._cluster = cluster

    def open_partitions(self, assignment: Sequence[list[int]]) -> OpenedPartitions:
        """Open new partitions with these replicas. Other requests may run meanwhile if there are many."""
        config_of, logs, first = self._log_configs(), self._cluster.logs, len(self.partitions)
        opened = OpenedPartitions(self._basis() if len(assignment) > _FEW_PARTITIONS else None)
        for index, assigned in _paced_if_many(list(enumerate(assignment, first))):
            placement = self._placement(assigned)
            log = logs.open(self.name, self.topic_id, index, config_of(_settings_node_id(placement)))
            self._hold_or_release(log, placement)
            opened.logs.append(log)
            opened.placements.append(placement)
        return opened

    def add_partitions(self, opened: OpenedPartitions) -> None:
        """Add opened partitions; nodes and settings may have changed since, and count as they are now."""
        first = len(self.partitions)
        self.partitions += opened.logs
        self.placements += opened.placements
        if opened.basis is not None and opened.basis != self._basis():
            for index in range(first, len(self.placements)):
                self.placements[index] = self._placement(self.placements[index].assigned)
            self.apply_configs()

    def _basis(self) -> object:
        """The nodes and settings that a new partition's placement and config depend on."""
        cluster, config_of = self._cluster, self._log_configs()
        return list(cluster.nodes), set(cluster.silent_node_ids), [config_of(node_id) for node_id in cluster.all_nodes]

    def _placement(self, assigned: list[int]) -> Placement:
        """The replicas that are up are in sync, and the first of them leads.

        After a restart with fewer nodes, replicas on nodes that do not exist any more count as down. If a partition
        has no other replica, the first node takes their place: it has the log.
        """
        cluster = self._cluster
        is_there = any(node_id in cluster.all_nodes for node_id in assigned)
        replicas = assigned if is_there else [min(cluster.all_nodes)]
        isr = [node_id for node_id in replicas if node_id in cluster.nodes]
        return Placement(replicas, isr[0] if isr else NO_LEADER, isr, absent=[] if is_there else assigned)

    def change_configs(self, configs: Mapping[str, str]) -> None:
        """Replace the configs; they hold for every append from now on. They must have been checked.

        Raises `Refused` if they can't be stored.
        """
        replicas = [placement.assigned for placement in self.placements]
        self._cluster.keep_topic(self.name, self.topic_id, configs, replicas)
        before, self.configs = self.configs, dict(configs)
        self.apply_configs()
        if before.get(_MIN_INSYNC) != configs.get(_MIN_INSYNC):
            self._cluster.events.tell(Kind.PARTITIONS_IN_SYNC, partitions=len(self.partitions))

    def apply_configs(self, indexes: Iterable[int] | None = None) -> None:
        """Apply the topic's configs and the settings of the leading nodes to the logs.

        `indexes`: the partitions; None: all.
        """
        config_of = self._log_configs()
        for index in range(len(self.partitions)) if indexes is None else indexes:
            self.partitions[index].config = config_of(_settings_node_id(self.placements[index]))
            self.hold_or_release(index)

    def hold_or_release(self, index: int) -> None:
        """Hold the high watermark while a replica of the ISR is down, or too few are in sync; else let it rise.

        It is never held in internal topics: what the broker itself writes is visible at once.
        """
        self._hold_or_release(self.partitions[index], self.placements[index])

    def _hold_or_release(self, partition: Partition, placement: Placement) -> None:
        if self.is_internal:
            return
        partition.hold_high_watermark(
            held=placement.has_too_few_in_sync(partition.config.min_insync_replicas)
            or not self._cluster.silent_node_ids.isdisjoint(placement.isr)
        )

    def _log_configs(self) -> Callable[[int], LogConfig]:
        """The log config of a partition by its leader's node id; the partitions of one leader share one."""
        from ottla.log.topic_configs import log_config

        return cache(lambda leader_id: log_config(self.configs, self._cluster.settings.of_node(leader_id)))

    def delete(self) -> None:
        """Delete the logs. Other requests may run meanwhile if there are many.

        Each log completes the operations that wait on it.
        """
        for partition in _paced_if_many(self.partitions):
            partition.delete()


def _paced_if_many(items: Sequence[T]) -> Iterable[T]:
    """A few partitions are handled in one go, so internal topics are never seen half made."""
    return paced(items) if len(items) > _FEW_PARTITIONS else items


def _settings_node_id(placement: Placement) -> int:
    """The node whose settings count for a partition: its leader, or its preferred leader if there is none."""
    return placement.replicas[0] if placement.leader_id == NO_LEADER else placement.leader_id

"""A topic: its name and id, its configs, its partitions and where they are.

`partitions` are the logs, `placements` say which nodes hold them; both are lists by partition number and of the same
length. There is one log for all replicas, so a replica is in sync as long as its node is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.broker.cluster import Cluster
    from ottla.broker.log_config import LogConfig
    from ottla.broker.partition import Partition


@dataclass(slots=True)
class Placement:
    """Where one partition is: the nodes that hold it, the preferred leader first."""

    replicas: list[int]
    leader_id: int
    isr: list[int]


class Topic:
    """A topic of the cluster. `configs` is what it says itself, as text; see `topic_configs`."""

    __slots__ = ("_cluster", "configs", "is_internal", "name", "partitions", "placements", "topic_id")

    def __init__(
        self, name: str, topic_id: bytes, configs: Mapping[str, str], cluster: Cluster, *, is_internal: bool
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.configs = dict(configs)
        self.is_internal = is_internal
        self.partitions: list[Partition] = []
        self.placements: list[Placement] = []
        self._cluster = cluster

    def add_partitions(self, assignment: Iterable[list[int]]) -> None:
        """Add partitions with these replicas, the first of each being its leader."""
        config_of = self._log_configs()
        for replicas in assignment:
            leader_id = replicas[0]
            index = len(self.partitions)
            self.partitions.append(self._cluster.logs.open(self.name, self.topic_id, index, config_of(leader_id)))
            self.placements.append(Placement(replicas, leader_id, list(replicas)))

    def change_configs(self, configs: Mapping[str, str]) -> None:
        """Say something else than before; every append from now on goes by it. The configs must have been checked."""
        self.configs = dict(configs)
        self.apply_configs()

    def apply_configs(self) -> None:
        """Let the logs go by the topic's configs and the settings of the nodes that lead them, as they are now."""
        config_of = self._log_configs()
        for partition, placement in zip(self.partitions, self.placements, strict=True):
            partition.config = config_of(placement.leader_id)

    def _log_configs(self) -> Callable[[int], LogConfig]:
        """The log config of a partition by its leader's node id; the partitions of one leader share one."""
        from ottla.broker.topic_configs import log_config

        return cache(lambda leader_id: log_config(self.configs, self._cluster.settings.of_node(leader_id)))

    def delete(self) -> None:
        """Give back what the logs hold. Whoever waits on one of them is told by it."""
        for partition in self.partitions:
            partition.delete()

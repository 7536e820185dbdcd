"""A topic: its name and id, its configs, and its partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.broker.cluster import Cluster


class Topic:
    """A topic of the cluster."""

    def __init__(
        self, name: str, topic_id: bytes, configs: dict[str, str], cluster: Cluster, *, is_internal: bool
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.configs = configs
        self.is_internal = is_internal
        self._cluster = cluster

    def add_partitions(self, assignment: Iterable[list[int]]) -> None: ...

    def close(self) -> None: ...

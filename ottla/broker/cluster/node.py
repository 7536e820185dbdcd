"""A node: what clients see as one broker of the cluster.

It has an id, an address, a share of the partitions to lead and a share of the groups to coordinate.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ottla.broker.network.address import Address

if TYPE_CHECKING:
    from ottla.broker.cluster.cluster import Cluster
    from ottla.broker.configs.settings import Layer, NodeSettings
    from ottla.broker.logs.fetch_session import FetchSessionCache
    from ottla.coordinator.groups.coordinator import Coordinator


class Node:
    """One broker of the cluster, with the address that clients are told."""

    def __init__(self, node_id: int, cluster: Cluster) -> None:
        self.node_id = node_id
        self.cluster = cluster
        #: Where clients reach it; known for sure once its listener is open.
        self.host = ""
        self.port = 0
        self.rack: str | None = cluster.settings["broker.rack"]

    @property
    def address(self) -> Address:
        """Where clients reach it."""
        return Address(self.host, self.port)

    @cached_property
    def coordinator(self) -> Coordinator:
        """Of the groups whose partitions of __consumer_offsets it leads."""
        return self.cluster.group_coordination.of_node[self.node_id]

    @cached_property
    def fetch_sessions(self) -> FetchSessionCache:
        """The fetch sessions that consumers have with it."""
        from ottla.broker.logs.fetch_session import FetchSessionCache

        slots: int = self.cluster.settings["max.incremental.fetch.session.cache.slots"]
        return FetchSessionCache(slots, self.cluster.timer.now_ms)

    def forget_clients(self) -> None:
        """What it knew of its clients is gone with it."""
        self.__dict__.pop("fetch_sessions", None)

    @property
    def settings(self) -> NodeSettings:
        """The settings that hold for this node."""
        return self.cluster.settings.of_node(self.node_id)

    @property
    def own_settings(self) -> dict[str, str]:
        """What every node of the process was started with differently, under Kafka's names."""
        address = f"PLAINTEXT://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
        node_id = str(self.node_id)
        return {
            "advertised.listeners": address,
            "broker.id": node_id,
            "listeners": address,
            "node.id": node_id,
            "process.roles": "broker,controller",
        }

    @property
    def setting_layers(self) -> list[Layer]:
        """The layers its settings come from, the one that counts first."""
        return self.cluster.settings.layers(self.node_id, self.own_settings)

"""A node: what clients see as one broker of the cluster.

It has an id, an address on each listener, a share of the partitions to lead and a share of the groups to coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ottla.cluster.address import Address

if TYPE_CHECKING:
    from ottla.broker.fetching.fetch_session import FetchSessionCache
    from ottla.cluster.cluster import Cluster
    from ottla.coordinator.groups.coordinator import Coordinator
    from ottla.settings.settings import Layer, NodeSettings


class Node:
    """One broker of the cluster, with the addresses that clients are told."""

    def __init__(self, node_id: int, cluster: Cluster) -> None:
        self.node_id = node_id
        self.cluster = cluster
        #: By listener: where it listens, and where its clients reach it, if they are told. Known once it is open.
        self.listens: dict[str, Address] = {}
        self.addresses: dict[str, Address] = {}
        self.rack: str | None = cluster.settings["broker.rack"]

    @property
    def address(self) -> Address:
        """Where clients of the first listener reach it."""
        return next(iter(self.addresses.values()))

    @cached_property
    def coordinator(self) -> Coordinator:
        """Of the groups whose partitions of __consumer_offsets it leads."""
        return self.cluster.group_coordination.of_node[self.node_id]

    @cached_property
    def fetch_sessions(self) -> FetchSessionCache:
        """The fetch sessions that consumers have with it."""
        from ottla.broker.fetching.fetch_session import FetchSessionCache

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
        node_id = str(self.node_id)
        own = {
            "broker.id": node_id,
            "listeners": _uris(self.listens),
            "node.id": node_id,
            "process.roles": "broker,controller",
        }
        if self.addresses != self.listens or "advertised.listeners" in self.cluster.settings.given:
            own["advertised.listeners"] = _uris(self.addresses)
        return own

    @property
    def setting_layers(self) -> list[Layer]:
        """The layers its settings come from, the one that counts first."""
        return self.cluster.settings.layers(self.node_id, self.own_settings)


def _uris(addresses: Mapping[str, Address]) -> str:
    """Addresses of listeners as Kafka's settings have them."""
    return ",".join(f"{name}://{address}" for name, address in addresses.items())

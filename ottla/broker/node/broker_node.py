"""A node as its clients meet it: what handlers find of the broker behind a connection.

The cluster knows of a node only where it is (`cluster.node`); here is what it serves with: its share of the groups, its
fetch sessions, its settings, and the services that all nodes of the process have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ottla.cluster.log_dirs import log_dir

if TYPE_CHECKING:
    from ottla.broker.delayed.operations import DelayedOperations
    from ottla.broker.fetching.fetch_session import FetchSessionCache
    from ottla.broker.groups.coordination import GroupCoordination
    from ottla.broker.node.services import Services
    from ottla.broker.transactions.coordination import TransactionCoordination
    from ottla.cluster.address import Address
    from ottla.cluster.cluster import Cluster
    from ottla.cluster.failover import Failover
    from ottla.cluster.node import Node
    from ottla.coordinator.groups.coordinator import Coordinator
    from ottla.coordinator.transactions.coordinator import TransactionCoordinator
    from ottla.pacing import Pace
    from ottla.purgatory import Clock, Timer
    from ottla.settings.settings import Layer, NodeSettings


class BrokerNode:
    """One broker of the cluster, at work."""

    def __init__(self, node: Node, cluster: Cluster, services: Services, timer: Timer, clock: Clock) -> None:
        self.node_id = node.node_id
        #: As the cluster knows it.
        self.node = node
        self.cluster = cluster
        self.timer = timer
        self.clock = clock
        self.events = cluster.events
        #: Partitions that have moved in this turn of the loop; what waits for them is in `delayed_operations`.
        self.moved = services.moved
        self._services = services

    @cached_property
    def coordinator(self) -> Coordinator:
        """Of the groups whose partitions of __consumer_offsets it leads."""
        return self._services.group_coordination.of_node[self.node_id]

    @property
    def group_coordination(self) -> GroupCoordination:
        """The group coordinators, at whichever node."""
        return self._services.group_coordination

    @cached_property
    def transactions(self) -> TransactionCoordination:
        """The transaction coordinators, at whichever node."""
        return self._services.transaction_coordination

    @cached_property
    def transaction_coordinator(self) -> TransactionCoordinator:
        """Of the transactional ids whose partitions of __transaction_state it leads."""
        return self.transactions.of_node[self.node_id]

    @cached_property
    def delayed_operations(self) -> DelayedOperations:
        """Requests that wait for a partition, at whichever node."""
        return self._services.delayed_operations

    @property
    def pace(self) -> Pace:
        """Runs requests that take long."""
        return self._services.pace

    @property
    def failover(self) -> Failover:
        """Holds elections."""
        return self._services.failover

    @cached_property
    def fetch_sessions(self) -> FetchSessionCache:
        """The fetch sessions that consumers have with it."""
        from ottla.broker.fetching.fetch_session import FetchSessionCache

        slots: int = self.cluster.settings["max.incremental.fetch.session.cache.slots"]
        return FetchSessionCache(slots, self.timer.now_ms, random_source=self.cluster.random_source)

    def forget_clients(self) -> None:
        """What it knew of its clients is gone with it."""
        self.__dict__.pop("fetch_sessions", None)

    @property
    def settings(self) -> NodeSettings:
        """The settings that hold for this node."""
        return self.cluster.settings.of_node(self.node_id)

    @property
    def own_settings(self) -> dict[str, str]:
        """What every node of the process was started with differently, under Kafka's names.

        The options of the command line and of `ottla.testing` set these, as a server.properties of Kafka does.
        """
        node_id = str(self.node_id)
        own = {
            "advertised.listeners": _uris(self.node.addresses),
            "broker.id": node_id,
            "listeners": _uris(self.node.listens),
            "node.id": node_id,
            "process.roles": "broker,controller",
        }
        if self.cluster.store is not None:
            own["log.dirs"] = log_dir(self.cluster)
        return own

    @property
    def setting_layers(self) -> list[Layer]:
        """The layers its settings come from, the one that counts first."""
        return self.cluster.settings.layers(self.node_id, self.own_settings)


def _uris(addresses: Mapping[str, Address]) -> str:
    """Addresses of listeners as Kafka's settings have them."""
    return ",".join(f"{name}://{address}" for name, address in addresses.items())

"""Stopping single nodes of a running broker, and starting them again at the addresses they had.

    stop, in order     others lead first; what clients have asked is answered; then connections end
    stop, hard         connections are reset at once; others lead when ottla.failover.ms have passed

A stopped node keeps its ports, so no other process gets them, and clients are refused meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ottla.cluster.failover import NodeState
from ottla.cluster.node import UnknownNode
from ottla.control.state.stopping import Stopping
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from ottla.broker.lifecycle.server import Server
    from ottla.broker.node.broker_node import BrokerNode


class NodeSwitch:
    """Switches the nodes of one broker, one at a time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._switching = asyncio.Lock()

    async def stop(self, node_id: int, *, hard: bool = False) -> None:
        """Stop this node, `hard`: as if its machine had died. A stopped node stays stopped.

        Raises `UnknownNode`, and `Stopping`.
        """
        server, broker_node = self._server, self._find(node_id)
        failover, sockets = server.services.failover, server.sockets
        node, listeners = broker_node.node, sockets.of(broker_node)
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is not NodeState.UP:
                return
            server.events.tell(Kind.NODE_STOPPED, node_id=node_id, is_hard=hard)
            if hard:
                for listener in listeners:
                    listener.reset()
                failover.node_died(node)
                for listener in listeners:
                    await listener.refuse_all()
                for listener in listeners:
                    await listener.closed()
            else:
                failover.node_leaves(node)
                for listener in listeners:
                    await listener.refuse_all()
                for listener in listeners:
                    listener.finish()
                await sockets.until_closed(listeners)
            broker_node.forget_clients()

    async def start(self, node_id: int) -> None:
        """Start a stopped node again. A node that is up stays up.

        Raises `UnknownNode`, `MachineRefused` if another process has taken the address, and `Stopping`.
        """
        server, broker_node = self._server, self._find(node_id)
        failover, node = server.services.failover, broker_node.node
        async with self._switching:
            self._refuse_if_stopping()
            if failover.state_of(node) is NodeState.UP:
                return
            await server.sockets.reopen(broker_node, self._refuse_if_stopping)
            failover.node_returns(node)
            server.events.tell(Kind.NODE_STARTED, node_id=node_id)

    def state(self, node_id: int) -> NodeState:
        """Whether this node is up. Raises `UnknownNode`."""
        return self._server.services.failover.state_of(self._find(node_id).node)

    def _find(self, node_id: int) -> BrokerNode:
        nodes = self._server.parts.nodes
        if node_id not in nodes:
            raise UnknownNode(node_id, list(nodes))
        return nodes[node_id]

    def _refuse_if_stopping(self) -> None:
        if self._server.is_stopping:
            raise Stopping

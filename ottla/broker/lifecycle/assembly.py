"""Everything a broker is made of: built here, in order, and each part handed what it needs.

    settings, platform, events, loop ─▶ timer, tasks ─▶ cluster ─▶ services ─▶ nodes

Nothing finds anything by itself: what a part knows of the rest stands in the call that makes it. `Server` puts sockets
in front of it, a data directory beneath it, and runs it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.broker.node.broker_node import BrokerNode
from ottla.broker.node.services import Services
from ottla.broker.upkeep.supervision import SupervisedTasks, TimerErrors
from ottla.cluster.cluster import Cluster
from ottla.cluster.node import Node
from ottla.purgatory import Timer

if TYPE_CHECKING:
    from ottla.broker.lifecycle.platform import Platform
    from ottla.events.stream import Stream
    from ottla.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of a broker."""

    timer: Timer
    #: Runs everything that no client waits for. `Server.run` enters it.
    tasks: asyncio.TaskGroup
    events: Stream
    cluster: Cluster
    services: Services
    #: By id; the first one first.
    nodes: dict[int, BrokerNode]


def assemble(
    settings: Settings,
    platform: Platform,
    events: Stream,
    loop: asyncio.AbstractEventLoop | None,
    *,
    node_count: int = 1,
    tasks: asyncio.TaskGroup | None = None,
) -> Assembly:
    """Build a broker of so many nodes, whose ids count up from the settings' first.

    `loop`: what wakes the timer; None: the caller advances it. `tasks`: None for a supervised group.
    """
    clock = platform.clock
    if loop is not None:
        events.deliver_here(loop.call_soon_threadsafe)
    timer = Timer(clock, loop=loop, on_error=TimerErrors(events))
    tasks = tasks or SupervisedTasks(events)
    cluster = Cluster(settings, clock.wall_ms, events, platform.random_source)
    services = Services(cluster, timer, tasks, platform.stopwatch)
    nodes = {}
    for node_id in range(settings.first_node_id, settings.first_node_id + node_count):
        node = Node(node_id, settings["broker.rack"])
        cluster.add_node(node)
        nodes[node_id] = BrokerNode(node, cluster, services, timer, clock)
    return Assembly(timer, tasks, events, cluster, services, nodes)

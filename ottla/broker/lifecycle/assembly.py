"""Everything a broker is made of: built here, in order, and each part handed what it needs.

    settings, clock, events, loop ─▶ timer, tasks ─▶ cluster ─▶ services ─▶ nodes

Nothing finds anything by itself: what a part knows of the rest stands in the call that makes it. `Server` puts sockets
in front of it, a data directory beneath it, and runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from ottla.broker.node.broker_node import BrokerNode
from ottla.broker.node.services import Services
from ottla.broker.upkeep.supervision import SupervisedTasks, TimerErrors
from ottla.cluster.cluster import Cluster
from ottla.cluster.node import Node
from ottla.purgatory import Clock, Timer

if TYPE_CHECKING:
    from random import Random

    from ottla.broker.groups.coordination import WrapGroupLog
    from ottla.events.stream import Stream
    from ottla.log.storage.contract import WrapStorage
    from ottla.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of a broker."""

    timer: Timer
    #: Where everything runs that no client waits for. To be entered by the one who runs the broker.
    tasks: asyncio.TaskGroup
    events: Stream
    cluster: Cluster
    services: Services
    #: By id; the first one first.
    nodes: dict[int, BrokerNode]


def assemble(
    settings: Settings,
    clock: Clock,
    events: Stream,
    loop: asyncio.AbstractEventLoop | None,
    *,
    node_count: int = 1,
    tasks: asyncio.TaskGroup | None = None,
    wrap_storage: WrapStorage | None = None,
    wrap_group_log: WrapGroupLog | None = None,
    random_source: Random | None = None,
    stopwatch: Callable[[], float] = perf_counter,
) -> Assembly:
    """Build a broker of so many nodes, whose ids count up from the settings' first.

    `loop`: what wakes the timer; None: the caller advances it. `tasks`: None for a supervised group. `wrap_storage`,
    `wrap_group_log`: what is to stand around the storage of each log, and around the group log. `random_source`: gives
    ids; None: the system's. `stopwatch`: what slices of long work are measured by, in seconds.
    """
    if loop is not None:
        events.deliver_here(loop.call_soon_threadsafe)
    timer = Timer(clock, loop=loop, on_error=TimerErrors(events))
    tasks = tasks or SupervisedTasks(events)
    cluster = Cluster(settings, clock.wall_ms, events, wrap_storage, random_source)
    services = Services(cluster, timer, tasks, wrap_group_log, stopwatch)
    nodes = {}
    for node_id in range(settings.first_node_id, settings.first_node_id + node_count):
        node = Node(node_id, settings["broker.rack"])
        cluster.add_node(node)
        nodes[node_id] = BrokerNode(node, cluster, services, timer, clock)
    return Assembly(timer, tasks, events, cluster, services, nodes)

"""Everything a broker is made of: built here, in order, and each part handed what it needs.

    settings, clock, log, loop ─▶ timer, tasks, events ─▶ cluster ─▶ services ─▶ nodes

Nothing finds anything by itself: what a part knows of the rest stands in the call that makes it. `Server` puts sockets
in front of it, a data directory beneath it, and runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.broker.log_lines import write_log_lines
from ottla.broker.node import BrokerNode
from ottla.broker.services import Services
from ottla.broker.supervision import SupervisedTasks, TimerErrors
from ottla.cluster.cluster import Cluster
from ottla.cluster.node import Node
from ottla.events.stream import Stream
from ottla.purgatory import Clock, Timer

if TYPE_CHECKING:
    from ottla.broker.groups.coordination import WrapGroupLog
    from ottla.broker.log import Log
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
    log: Log,
    loop: asyncio.AbstractEventLoop | None,
    *,
    node_count: int = 1,
    tasks: asyncio.TaskGroup | None = None,
    wrap_storage: WrapStorage | None = None,
    wrap_group_log: WrapGroupLog | None = None,
    on_groups_loaded: Callable[[], object] = lambda: None,
) -> Assembly:
    """Build a broker of so many nodes, whose ids count up from the settings' first.

    `loop`: what wakes the timer; None: somebody advances it. `tasks`: None for a supervised group. `wrap_storage`,
    `wrap_group_log`: what is to stand around the storage of each log, and around the group log. `on_groups_loaded`:
    called once, when the groups that were there at the start have been read, if any.
    """
    timer = Timer(clock, loop=loop, on_error=TimerErrors(log, clock))
    tasks = tasks or SupervisedTasks(log)
    events = Stream(clock.now_ms, clock.wall_ms)
    write_log_lines(events, log)
    cluster = Cluster(settings, clock.wall_ms, events, log, wrap_storage)
    services = Services(cluster, timer, tasks, log, wrap_group_log, on_groups_loaded)
    nodes = {}
    for node_id in range(settings.first_node_id, settings.first_node_id + node_count):
        node = Node(node_id, settings["broker.rack"])
        cluster.add_node(node)
        nodes[node_id] = BrokerNode(node, cluster, services, timer, clock, log)
    return Assembly(timer, tasks, events, cluster, services, nodes)

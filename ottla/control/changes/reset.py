"""Putting a broker back to how it was at its start, without a restart: for one that many tests share.

    nodes that are down      are started
    topics                   go, with their records, their producers and their open transactions
    groups                   go, with their members and what they have committed
    settings and configs     are those of the start
    the virtual clock        has the machine's date again; its deadlines never go back

Connections stay: to clients it is as if an administrator had deleted all topics and groups. A client that
is told so asks anew, and a consumer joins again. What else has to forget something, such as faults, reads
`broker.reset` in the stream.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.events.kind import Kind
from ottla.purgatory import VirtualClock
from ottla.settings.settings import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ottla.broker.lifecycle.assembly import Assembly
    from ottla.cluster.cluster import Cluster

#: Turns of the loop in which what follows from a change must be over.
TURNS_MAX: Final = 100_000


async def reset(parts: Assembly, start_node: Callable[[int], Awaitable[None]]) -> None:
    """Put the broker back. What clients do meanwhile happens before or after."""
    for node_id in parts.nodes:
        await start_node(node_id)
    await forget_topics(parts)
    _forget_configs(parts.cluster)
    clock = parts.timer.clock
    if isinstance(clock, VirtualClock):
        clock.set_date()
    parts.events.tell(Kind.BROKER_RESET)


async def forget_topics(parts: Assembly) -> None:
    """Delete every topic, and so every group, and return when all that follows from it is over."""
    cluster = parts.cluster
    topics = cluster.topics
    for _ in range(TURNS_MAX):
        # The groups' log goes first, and the groups with it: what is committed for the other topics need not be found.
        for name in sorted(topics, key=lambda name: name != GROUP_TOPIC):
            cluster.delete_topic(topics[name])
        cluster.partitions_placed = 0
        if parts.services.is_settled:
            return
        await asyncio.sleep(0)
    raise RuntimeError(f"clients made topics again and again, in {TURNS_MAX} turns of the loop")


def _forget_configs(cluster: Cluster) -> None:
    for layer in (CLUSTER, *map(str, cluster.all_nodes)):
        if cluster.settings.has_changed(layer):
            cluster.change_settings(layer, {})
    for group_id in list(cluster.group_configs):
        cluster.group_configs.pop(group_id)
        if cluster.store is not None:
            cluster.store.keep_group_configs(group_id, {})
    for name in list(cluster.client_metrics_configs):
        cluster.client_metrics_configs.pop(name)
        if cluster.store is not None:
            cluster.store.keep_client_metrics_configs(name, {})

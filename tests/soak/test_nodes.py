"""Nodes die, leave and come back at random under three groups of real clients, and under transactions.

One node is down at a time. Were it two, a client might know none but the third, from its last metadata, and be lost
when that one goes, with Kafka as well: aiokafka never looks at its bootstrap servers again.
"""

from __future__ import annotations

import pytest

from ottla.testing import Broker
from tests.clients.conftest import starter
from tests.clients.libraries import name_of, who_can
from tests.nodes.onlooker import Onlooker
from tests.soak.conftest import Drill
from tests.soak.transfers import Transfers
from tests.soak.workload import Workload
from tests.support.inside import server_of

NODES = (1, 2, 3)
#: How likely it is that a node dies, rather than leaves, and that one which is down comes back in the next round.
HARD, BACK = 0.7, 0.7

pytestmark = pytest.mark.soak


def test_nodes_come_and_go(drill: Drill) -> None:
    """Nothing is lost, nothing is there twice, transactions are whole or not there, and no member has to join again."""
    rounds = drill.rounds(short=6, long=200)
    with Broker(nodes=len(NODES), log_level="error") as broker, starter(broker.bootstrap_servers) as start:
        onlooker = Onlooker(broker, NODES)
        workloads = []
        for library in who_can("idempotence"):
            name = str(name_of(library))
            onlooker.create_topic(name, partitions=3)
            workloads.append(Workload(start, library, name, partitions=3))
        transfers = Transfers(start, "transfers", partitions=3)
        onlooker.create_topic(transfers.name, partitions=3)
        for workload in workloads:
            workload.begin()
        transfers.begin()
        generations = {group: generation(broker, group) for group in (workload.name for workload in workloads)}
        down = None
        for _ in range(rounds):
            if down is None:
                down = broker.node(drill.random.choice(NODES))
                down.stop(hard=drill.random.random() < HARD)
            elif drill.random.random() < BACK:
                down.start()
                down = None
            for workload in workloads:
                workload.goes_on()
            transfers.goes_on()
            transfers.check_so_far()
        for node_id in NODES:
            broker.node(node_id).start()
        for workload in workloads:
            workload.end()
            onlooker.stable(workload.name, 2)
        transfers.end()
        assert {group: generation(broker, group) for group in generations} == generations


def generation(broker: Broker, group_id: str) -> int:
    """The group's generation, where it is coordinated."""

    async def look() -> int:
        coordinators = server_of(broker).services.group_coordination.of_node.values()
        (group,) = [group for coordinator in coordinators for group in coordinator.groups if group.group_id == group_id]
        return group.generation_id

    return broker.call(look())

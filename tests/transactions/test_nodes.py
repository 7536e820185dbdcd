"""Nodes stop between each two steps of a transaction, and its producer and its readers hardly notice."""

from __future__ import annotations

import pytest

from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.testing import Broker
from tests.support.inside import server_of
from tests.transactions.driver import PLACES, TOPIC, Driver

SETTINGS = {"transaction.state.log.num.partitions": 1, "offsets.topic.num.partitions": 1, "ottla.failover.ms": 1}


def leader_of(broker: Broker, topic: str, index: int = 0) -> int:
    async def look() -> int:
        found = server_of(broker).cluster.topics.get(topic)
        return 1 if found is None else found.placements[index].leader_id

    return broker.call(look())


@pytest.mark.parametrize("hard", [True, False], ids=["dies", "leaves"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("who", ["coordinator", "leader"])
@pytest.mark.parametrize("place", range(PLACES))
def test_a_node_goes_between_two_steps(place: int, who: str, version: int, hard: bool) -> None:
    """The transaction commits all the same, and the one before and the one after stay what they were."""
    with Broker(nodes=3, settings=SETTINGS) as broker:
        addresses = [broker.node(node_id).bootstrap_server for node_id in (1, 2, 3)]
        with Driver(lambda: addresses, version, replicas=3) as driver:
            driver.create_topic()
            driver.run(b"before", 1, commit=True)

            def between(number: int) -> None:
                if number == place:
                    topic = TRANSACTION_TOPIC if who == "coordinator" else TOPIC
                    broker.node(leader_of(broker, topic)).stop(hard=hard)

            driver.run(b"meanwhile", 2, commit=True, between=between)
            assert driver.committed_offset() == 2
            driver.run(b"aborted", 3, commit=False)
            driver.run(b"after", 4, commit=True)
            for index in (0, 1):
                assert driver.committed_values(index) == [b"before", b"meanwhile", b"after"]
            assert driver.committed_offset() == 4


@pytest.mark.parametrize("place", range(2, 6))
def test_all_nodes_go_one_after_the_other(place: int) -> None:
    """Each is gone for a while, with a step between; what was begun before is committed after."""
    with Broker(nodes=3, settings=SETTINGS) as broker:
        addresses = [broker.node(node_id).bootstrap_server for node_id in (1, 2, 3)]
        with Driver(lambda: addresses, replicas=3) as driver:
            driver.create_topic()

            def between(number: int) -> None:
                for node_id in (1, 2, 3):
                    if number == place:
                        broker.node(node_id).stop(hard=True)
                        driver.committed_offset() if number == 0 else driver._coordinator()
                        broker.node(node_id).start()

            driver.run(b"1", 1, commit=True, between=between)
            assert [driver.committed_values(index) for index in (0, 1)] == [[b"1"], [b"1"]]
            assert driver.committed_offset() == 1

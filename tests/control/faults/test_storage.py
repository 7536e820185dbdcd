"""Disks that fail, and commits that are not written, though nothing is wrong with the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.protocol.errors import ErrorCode
from tests.control.faults.scene import commit, committed, create, fault, faults_of, find, produce
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


@pytest.mark.parametrize("is_on_disk", [False, True], ids=["memory", "disk"])
def test_append_to_one_partition_fails(is_on_disk: bool, tmp_path: Path) -> None:
    """The client is told KAFKA_STORAGE_ERROR; the log goes on behind what it has, and other logs never notice."""
    with (
        RunningBroker(data_dir=tmp_path if is_on_disk else None) as broker,
        Client(broker.bootstrap) as client,
    ):
        create(client, "orders", "payments")
        places = (("orders", 0), ("orders", 1), ("payments", 0))
        produce(client, *places)
        full = fault(broker, topic="orders", partition=1, fail_append=True, times=1)
        assert produce(client, *places) == {
            ("orders", 0): (0, 1),
            ("orders", 1): (ErrorCode.KAFKA_STORAGE_ERROR, -1),
            ("payments", 0): (0, 1),
        }
        assert produce(client, ("orders", 1)) == {("orders", 1): (0, 1)}
        assert [(hit.topic, hit.partition) for hit in full.hits] == [("orders", 1)]


def test_topics_that_are_made_later_are_aimed_at_too() -> None:
    with RunningBroker() as broker, Client(broker.bootstrap) as client:
        fault(broker, topic="late", fail_append={"reason": "Input/output error"})
        create(client, "late")
        answer = produce(client, ("late", 0), version=8)
        assert answer == {("late", 0): (ErrorCode.KAFKA_STORAGE_ERROR, -1)}
        broker.look(faults_of(broker).clear)
        assert produce(client, ("late", 0)) == {("late", 0): (0, 0)}


def test_storage_stands_alone_again_when_the_last_fault_is_gone() -> None:
    """Removed, or spent; be it set once or again."""
    with RunningBroker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        (log, _) = broker.server.cluster.topics["orders"].partitions
        real = log._storage
        for _ in range(2):
            fault(broker, topic="orders", fail_append=True, once=True)
            fault(broker, topic="payments", fail_append=True, may_not_fire=True)
            assert log._storage is not real
            produce(client, ("orders", 0))
            assert log._storage is not real
            broker.look(faults_of(broker).clear)
            assert log._storage is real
            assert broker.server.cluster.logs.wrap_storage is None


def test_commit_of_one_group_fails() -> None:
    """Its client is told to try again, with the error that Kafka makes of it; other groups commit."""
    with RunningBroker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        find(client)
        fault(broker, group="kitchen", fail_append=True, times=1)
        assert commit(client, "cellar", "orders", {0: 3}) == {0: 0}
        assert commit(client, "kitchen", "orders", {0: 3})[0] != 0
        assert committed(client, "kitchen", "orders", 0) == -1
        assert commit(client, "kitchen", "orders", {0: 4}) == {0: 0}
        assert committed(client, "kitchen", "orders", 0) == 4


def test_commit_that_is_not_written_is_gone_with_its_coordinator() -> None:
    """It was acknowledged, and is there until the group moves to another node."""
    with RunningBroker(nodes=2, settings={"offsets.topic.num.partitions": 1}) as broker:
        addresses = broker.server.bootstrap.split(",")
        with Client(broker.bootstrap) as client:
            create(client, "orders")
            coordinator = find(client, "kitchen")
        with Client(addresses[coordinator - 1]) as client:
            assert commit(client, "kitchen", "orders", {0: 3}) == {0: 0}
            fault(broker, group="kitchen", partition=0, lose_record=True, once=True)
            assert commit(client, "kitchen", "orders", {0: 7}) == {0: 0}
            assert committed(client, "kitchen", "orders", 0) == 7
        broker.run(broker.controlled.nodes.stop(coordinator))
        with Client(addresses[2 - coordinator]) as client:
            broker.wait_until(
                "it is loaded",
                lambda: not broker.server.parts.nodes[3 - coordinator].coordinator.runtime.is_any_loading,
            )
            assert committed(client, "kitchen", "orders", 0) == 3

"""Appends that are held: of a topic's batch, and of what a group writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.testing import BadFault, Broker
from tests.control.faults.scene import commit, committed, create, produce, produce_request
from tests.support.client import Client

OFFSETS = "__consumer_offsets"


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(clock="virtual") as broker:
        yield broker


@pytest.fixture
def ana(kafka: Broker) -> Iterator[Client]:
    with Client(kafka.bootstrap_servers, client_id="ana") as client:
        assert client.ask(FindCoordinatorRequest("kitchen"), 1).error_code == ErrorCode.NONE
        create(client, "orders", "payments")
        yield client


def commit_request(offset: int) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)]
    return OffsetCommitRequest(
        "kitchen", topics=[OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=partitions)]
    )


def error_of(client: Client) -> ErrorCode:
    """What a commit is answered."""
    return ErrorCode(client.receive().message.topics[0].partitions[0].error_code)


def test_batch_is_written_when_it_is_let_go(kafka: Broker, ana: Client) -> None:
    with kafka.hold(append="orders", partition=1) as held, Client(kafka.bootstrap_servers) as bo:
        ana.send(produce_request(("orders", 1)), 7)
        assert held.wait().client_id == "ana"
        assert produce(bo, ("orders", 0), ("payments", 1)) == {("orders", 0): (0, 0), ("payments", 1): (0, 0)}
        assert len(kafka.topic("orders").records()) == 1
        held.let_go()
        assert ana.receive().message.responses[0].partition_responses[0].base_offset == 0
    assert len(kafka.topic("orders").records()) == 2


def test_batch_that_is_refused_is_not_written(kafka: Broker, ana: Client) -> None:
    with kafka.hold(append="orders") as held:
        ana.send(produce_request(("orders", 1)), 7)
        held.wait().refuse("KAFKA_STORAGE_ERROR")
        partition = ana.receive().message.responses[0].partition_responses[0]
        assert partition.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert kafka.topic("orders").records() == []


def test_commit_is_written_when_it_is_let_go(kafka: Broker, ana: Client) -> None:
    """Until then its group answers nobody; other groups go on."""
    with (
        kafka.hold(append=OFFSETS, group="kitchen") as held,
        Client(kafka.bootstrap_servers) as bo,
        Client(kafka.bootstrap_servers) as cy,
    ):
        ana.send(commit_request(7), 7)
        append = held.wait()
        assert (append.at, append.group_id, append.api) == ("append", "kitchen", None)
        assert repr(append) == "append of kitchen, held"
        assert commit(bo, "bar", "orders", {0: 3}) == {0: ErrorCode.NONE}
        kafka.advance(1_000)
        cy.send(commit_request(8), 7)
        assert not ana.connection.has_received
        append.let_go()
        assert error_of(ana) == ErrorCode.NONE
        held.wait(2).let_go()
        assert error_of(cy) == ErrorCode.NONE
    assert committed(ana, "kitchen", "orders", 0) == 8
    assert "append let go by fault 1" in str(kafka.timeline)


def test_what_is_asked_meanwhile_is_answered_in_its_order(kafka: Broker, ana: Client) -> None:
    """Not before, and all of it: commits that waited share the next batch."""
    with ExitStack() as clients, kafka.hold(append=OFFSETS, group="kitchen", once=True) as held:
        ana.send(commit_request(1), 7)
        held.wait()
        others = [clients.enter_context(Client(kafka.bootstrap_servers)) for _ in range(3)]
        for offset, client in enumerate(others, 2):
            with kafka.fault("OffsetCommit").throttle(ms=0) as come:
                client.send(commit_request(offset), 7)
                come.wait()
        held.let_go()
        assert [error_of(client) for client in (ana, *others)] == [ErrorCode.NONE] * 4
    assert committed(ana, "kitchen", "orders", 0) == 4


def test_commit_that_is_refused_is_not_written(kafka: Broker, ana: Client) -> None:
    """Its group goes on, also if nothing more is to be held."""
    with kafka.hold(append=OFFSETS, group="kitchen", once=True) as held:
        ana.send(commit_request(7), 7)
        held.wait().refuse("NOT_ENOUGH_REPLICAS")
        assert error_of(ana) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert committed(ana, "kitchen", "orders", 0) == -1
        assert commit(ana, "kitchen", "orders", {0: 8}) == {0: ErrorCode.NONE}


def test_end_of_the_block_writes(kafka: Broker, ana: Client) -> None:
    with kafka.hold(append=OFFSETS, topic="orders") as held:
        ana.send(commit_request(7), 7)
        held.wait()
    assert error_of(ana) == ErrorCode.NONE


def test_group_that_moves_is_written_first() -> None:
    """Who gives a group away can't wait: what was held is in the log that the next coordinator reads."""
    with Broker(nodes=2, settings={"offsets.topic.replication.factor": 2, "offsets.topic.num.partitions": 1}) as kafka:
        with Client(kafka.node(1).bootstrap_server) as client:
            found = client.ask(FindCoordinatorRequest("kitchen"), 1)
            create(client, "orders")
        with kafka.hold(append=OFFSETS) as held, Client(f"{found.host}:{found.port}") as client:
            client.send(commit_request(7), 7)
            held.wait()
            kafka.group("kitchen").move_coordinator(to=3 - found.node_id)
            assert error_of(client) == ErrorCode.NONE
            assert held.all == []
        kafka.group("kitchen").wait_for_commit("orders", 0, at_least=7)


def test_append_of_a_group_can_not_be_lost(kafka: Broker, ana: Client) -> None:
    with kafka.hold(append=OFFSETS) as held:
        ana.send(commit_request(7), 7)
        held.wait()
        with pytest.raises(BadFault, match="what is asked meanwhile would wait for ever"):
            held.lose()
        with pytest.raises(BadFault, match="can't be refused with NONE"):
            held.refuse("NONE")
        with pytest.raises(BadFault, match="has nothing to change"):
            held.change(offset=8)
    assert error_of(ana) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"append": 7}, "append is the name of a topic, not 7"),
        ({"append": ["orders", "payments"]}, "append says one topic"),
        ({"append": "orders", "topic": "orders"}, "append says which topic"),
        ({"append": OFFSETS, "api": "OffsetCommit"}, "an append to a group's log, which has no API"),
        ({"append": OFFSETS, "member": "ana-*"}, "an append to a group's log has no member to aim at"),
    ],
)
def test_what_makes_no_sense_is_refused(kafka: Broker, wish: dict[str, object], said: str) -> None:
    with pytest.raises(BadFault) as refused:
        kafka.hold(**wish)
    assert said in str(refused.value)

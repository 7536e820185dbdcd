"""Stopping and starting a node, as sockets see it."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.testing import Broker
from tests.nodes.onlooker import Onlooker
from tests.support.batches import batch
from tests.support.client import Client
from tests.support.inside import server_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.running_broker import RunningBroker, every_loop
from tests.support.wire import ConnectionClosedError


@pytest.fixture
def broker() -> Iterator[Broker]:
    """Three nodes whose time stands still."""
    with Broker(nodes=3, clock="virtual", log_level="error") as running:
        yield running


@pytest.fixture
def onlooker(broker: Broker) -> Onlooker:
    return Onlooker(broker)


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)


def waiting_fetch(topic: str) -> FetchRequest:
    partition = FetchRequest.FetchPartition(0, partition_max_bytes=1000)
    return FetchRequest(
        max_wait_ms=60_000, min_bytes=1, topics=[FetchRequest.FetchTopic(topic, partitions=[partition])]
    )


def until_waiting(broker: Broker, onlooker: Onlooker, count: int) -> None:
    """Return when so many requests wait for a partition."""

    async def waiting() -> int:
        operations = server_of(broker).services.delayed_operations
        return operations.fetch.delayed + operations.produce.delayed

    onlooker.until(lambda: broker.call(waiting()) == count, f"{count} requests wait")


def test_dead_node_resets_its_connections_and_refuses_new_ones(broker: Broker) -> None:
    """Not an orderly end of the connection: a client must not take it for one."""
    address = broker.node(2).bootstrap_server
    with connect(address) as client:
        client.sendall(b"\x00\x00")
        broker.node(2).stop(hard=True)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(address)


def test_nobody_gets_the_port_of_a_stopped_node(broker: Broker) -> None:
    """Or it could not come back, and clients would meet a stranger."""
    for hard in (True, False):
        address = broker.node(2).bootstrap_server
        broker.node(2).stop(hard=hard)
        host, _, port = address.rpartition(":")
        with socket.socket() as stranger, pytest.raises(OSError) as refused:
            stranger.bind((host, int(port)))
        assert refused.value.errno == errno.EADDRINUSE
        broker.node(2).start()
        assert broker.node(2).bootstrap_server == address
        with Client(address) as client:
            assert client.ask(ApiVersionsRequest("a", "1"), 3).error_code == 0


def test_node_that_leaves_answers_what_it_was_asked(broker: Broker, onlooker: Onlooker) -> None:
    """Who waits for records is told that others lead, then the connection ends in order."""
    onlooker.create_topic("orders")
    with Client(broker.node(1).bootstrap_server) as client:
        client.send(waiting_fetch("orders"), 9)
        client.send(ApiVersionsRequest("a", "1"), 3)  # comes behind it, and waits
        until_waiting(broker, onlooker, 1)
        broker.node(1).stop()
        assert client.receive().message.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert client.receive().message.error_code == 0
        with pytest.raises(ConnectionClosedError):
            client.connection.receive_frame()


def test_node_that_dies_answers_nobody(broker: Broker, onlooker: Onlooker) -> None:
    """And forgets who waited."""
    onlooker.create_topic("orders")
    with Client(broker.node(1).bootstrap_server) as client:
        client.send(waiting_fetch("orders"), 9)
        until_waiting(broker, onlooker, 1)
        broker.node(1).stop(hard=True)
        with pytest.raises(ConnectionClosedError):
            client.receive()
    until_waiting(broker, onlooker, 0)


def produce() -> ProduceRequest:
    data = ProduceRequest.PartitionProduceData(0, batch())
    return ProduceRequest(None, -1, 60_000, [ProduceRequest.TopicProduceData("orders", partition_data=[data])])


def test_client_that_waits_for_acknowledgements_is_told_when_its_node_leaves(
    broker: Broker, onlooker: Onlooker
) -> None:
    """Its produce waits for a silent replica; the node that leaves meanwhile says that others lead."""
    onlooker.create_topic("orders")
    broker.node(3).stop(hard=True)
    with Client(broker.node(1).bootstrap_server) as client:
        client.send(produce(), 9)
        until_waiting(broker, onlooker, 1)
        broker.node(1).stop()
        answer = client.receive().message.responses[0].partition_responses[0]
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_fetch_session_does_not_outlive_its_node(broker: Broker, onlooker: Onlooker) -> None:
    """Who comes with it when the node is back is told to begin anew."""
    onlooker.create_topic("orders")
    begin = waiting_fetch("orders")
    begin.max_wait_ms, begin.session_epoch = 0, 0
    session_id = onlooker.ask(begin, 9, 1).session_id
    assert session_id > 0
    go_on = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session_id, session_epoch=1)
    assert onlooker.ask(go_on, 9, 1).error_code == 0
    broker.node(1).stop()
    broker.node(1).start()
    go_on.session_epoch = 2
    assert onlooker.ask(go_on, 9, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_stopping_and_starting_twice_does_nothing_more(broker: Broker, onlooker: Onlooker) -> None:
    """Nor does stopping a dead node gently: it can't come back to say goodbye."""
    onlooker.create_topic("orders")
    for hard in (True, True, False):
        broker.node(1).stop(hard=hard)
        assert broker.node(1).state == "silent"
    broker.advance(100)
    assert broker.node(1).state == "down"
    for _ in range(2):
        broker.node(1).start()
        assert broker.node(1).state == "up"
    partition = onlooker.partition("orders")
    assert (partition.leader_id, partition.leader_epoch, partition.isr_nodes) == (2, 1, [1, 2, 3])


def test_all_nodes_may_be_stopped(broker: Broker, onlooker: Onlooker) -> None:
    """The records are there when they are back."""
    onlooker.create_topic("orders", replicas=3)
    leader = onlooker.leader("orders")
    with Client(broker.node(leader).bootstrap_server) as client:
        assert client.ask(produce(), 9).responses[0].partition_responses[0].error_code == 0
    for node_id in (1, 2, 3):
        broker.node(node_id).stop()
    for node_id in (1, 2, 3):
        broker.node(node_id).start()
    leader = onlooker.leader("orders")
    assert leader == 3, "the last one to leave has everything, for all the others can tell"
    answer = onlooker.ask(waiting_fetch("orders"), 9, leader)
    assert answer.responses[0].partitions[0].high_watermark == 1


def test_broker_stops_while_nodes_are_down(broker: Broker) -> None:
    """One that died and is not missed yet, and one that left."""
    broker.node(1).stop(hard=True)
    broker.node(2).stop()
    broker.stop()


def test_sample_of_the_page_runs() -> None:
    """The Python of docs/nodes.md, as somebody would copy it."""
    page = (Path(__file__).parents[2] / "docs" / "nodes.md").read_text()
    (sample,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert sample.count("stop(") == sample.count("start()") == 2
    exec(sample, {})


def test_unknown_node_is_told_so(broker: Broker) -> None:
    with pytest.raises(ValueError, match=r"there is no node 4; the nodes are 1, 2, 3"):
        broker.node(4)


async def test_nodes_in_an_async_test() -> None:
    """The same, while the test's own loop goes on."""
    async with Broker(nodes=2, log_level="error") as kafka:
        await asyncio.to_thread(kafka.node(1).stop)
        with Client(kafka.node(2).bootstrap_server) as client:
            assert [node.node_id for node in client.ask(MetadataRequest([]), 12).brokers] == [2]
        await asyncio.to_thread(kafka.node(1).start)
        assert kafka.node(1).state == "up"


@every_loop
def test_nothing_is_left_of_a_node_that_was_stopped(loop: str) -> None:
    """On every event loop: no connection, no fetch that waits, no task; and it comes back each time."""
    with RunningBroker(loop, nodes=2) as broker:  # type: ignore[arg-type]
        first, second = broker.server.bootstrap.split(",")
        with Client(second) as other:
            for hard in (True, False, True):
                with Client(first) as client:
                    assert client.ask(MetadataRequest([]), 12).controller_id == 1
                    broker.run(broker.controlled.nodes.stop(1, hard=hard))
                    broker.wait_until("nobody is connected to node 1", lambda: not broker.connections)
                assert other.ask(ApiVersionsRequest("a", "1"), 3).error_code == 0
                broker.run(broker.controlled.nodes.start(1))
            with Client(first) as client:
                assert client.ask(ApiVersionsRequest("a", "1"), 3).error_code == 0

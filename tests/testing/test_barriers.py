"""Requests that are held, in a test's hands: with real clients, and with what is said where nothing came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, Producer

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.testing import BadFault, Broker, FaultNeverFired, NotInTime
from ottla.testing.barriers import NothingHeld
from tests.control.faults.scene import create, fetch_request, fetched, heartbeat, metadata_request, produce_request
from tests.support.client import Client


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(clock="virtual") as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Iterator[Broker]:
    yield shared
    shared.faults.clear()


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap_servers, client_id="ana") as client:
        yield client


def test_request_is_held_until_the_end_of_the_block(broker: Broker, client: Client) -> None:
    with broker.hold("ApiVersions", client_id="ana") as held:
        client.send(ApiVersionsRequest(), 1)
        request = held.wait()
        assert (request.api, request.client_id, request.number, request.answer) == ("ApiVersions", "ana", 1, None)
        assert held.request == request.request == ApiVersionsRequest()
        assert (request.is_held, request.is_gone) == (True, False)
        assert not client.connection.has_received
    assert client.receive().message.error_code == ErrorCode.NONE
    assert not request.is_held


def test_first_that_waits_is_decided_about(broker: Broker, client: Client) -> None:
    """By the words of the hold itself; one after the other."""
    with (
        broker.hold("Metadata") as held,
        Client(broker.bootstrap_servers) as bo,
        Client(broker.bootstrap_servers) as cy,
    ):
        create(client, "orders")
        clients = (client, bo, cy)
        for number, one in enumerate(clients, 1):
            one.send(metadata_request("orders"), 5)
            held.wait(number)
        assert [request.number for request in held.all] == [1, 2, 3]
        held.change(topics=metadata_request("payments").topics)
        held.let_go()
        assert client.receive().message.topics[0].name == "payments"
        held.refuse("LEADER_NOT_AVAILABLE")
        assert bo.receive().message.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
        held.lose()
        assert held.all == []
        with pytest.raises(NothingHeld, match="nothing is held by fault"):
            held.let_go()
        assert not cy.connection.has_received


def test_what_one_client_has_sent_is_decided_about(broker: Broker, client: Client) -> None:
    """Whoever came first."""
    with broker.hold("ApiVersions") as held, Client(broker.bootstrap_servers, client_id="bo") as bo:
        for number, one in enumerate((client, bo), 1):
            one.send(ApiVersionsRequest(), 1)
            held.wait(number)
        held.of(client_id="bo").let_go()
        assert bo.receive().message.error_code == ErrorCode.NONE
        assert not client.connection.has_received
        with pytest.raises(NothingHeld, match="nothing of bo is held by fault"):
            held.of(client_id="bo")
        assert held.of(client_id="a*").client_id == "ana"


def test_timeline_shows_faults_and_what_was_held() -> None:
    """Among all else, in words."""
    with Broker() as kafka, Client(kafka.bootstrap_servers, client_id="ana") as client:
        create(client, "orders")
        with kafka.fault("Metadata", topic="orders").throttle(ms=5) as fault:
            client.ask(metadata_request("orders"), 5)
        with kafka.hold("Heartbeat", group="kitchen") as held:
            client.send(heartbeat("kitchen", "bo"), 0)
            held.wait()
        kafka.fault(topic="orders", partition=0).fail_append().once()
        client.receive()
        client.ask(produce_request(("orders", 0)), 7)
        told = [line.split(None, 2)[2] for line in str(kafka.timeline).splitlines()[1:]]
    throttling, holding = "Metadata topic=orders: throttle_time_ms 5", "Heartbeat group=kitchen: hold the request"
    assert [re.sub(r"^node 1: ", "", line) for line in told if "fault" in line] == [
        f"fault 1 set: {throttling}, until removed",
        f"fault 1 hit Metadata of ana, orders: {throttling}, until removed",
        "fault 1 removed; it happened 1 time",
        f"fault 2 set: {holding}, until removed",
        f"kitchen  bo      node 1: fault 2 hit Heartbeat of ana: {holding}, until removed",
        "kitchen  bo      node 1: Heartbeat of ana held at the request by fault 2",
        "Heartbeat of ana let go by fault 2",
        "fault 2 removed; it happened 1 time",
        "fault 3 set: topic=orders partition=0: fail the append (No space left on device), once",
        "fault 3 hit orders-0: topic=orders partition=0: fail the append (No space left on device), once",
    ]
    assert fault.hit_count == 1


def test_answer_is_held_and_replaced(broker: Broker, client: Client) -> None:
    with broker.hold("ApiVersions", at="answer", once=True) as held:
        client.send(ApiVersionsRequest(), 1)
        request = held.wait()
        assert held.answer.error_code == ErrorCode.NONE
        assert repr(request).startswith("ApiVersions of 'ana', held at the answer: ")
        request.replace(type(held.answer)(error_code=ErrorCode.INVALID_REQUEST)).let_go()
        assert client.receive().message.error_code == ErrorCode.INVALID_REQUEST
        client.ask(ApiVersionsRequest(), 1)  # the second one is not held


def test_errors_of_waits_say_what_came(broker: Broker, client: Client) -> None:
    client.ask(ApiVersionsRequest(), 0)
    hold = broker.hold("Heartbeat", group="kitchen", may_not_fire=True)
    with pytest.raises(
        NotInTime, match=r"\(Heartbeat group=kitchen: hold .*\) has held 0, not 1; no request came at all"
    ):
        hold.wait(timeout_s=0)
    client.ask(ApiVersionsRequest(), 0)
    with pytest.raises(NotInTime, match="what came: 1 ApiVersions"):
        hold.wait(timeout_s=0)
    client.ask(heartbeat("cellar"), 0)
    with pytest.raises(NotInTime, match="what came close: Heartbeat v0 of 'ana': its group is 'cellar'"):
        hold.wait(timeout_s=0)
    hold.end()
    hold.end()


def test_hold_that_has_held_nothing_is_an_error(broker: Broker) -> None:
    """At the end of its block, or of the broker's; unless it may well not."""
    with pytest.raises(FaultNeverFired, match=r"at test_barriers\.py:\d+ has held nothing"), broker.hold("Heartbeat"):
        pass
    with broker.hold("Heartbeat", may_not_fire=True):
        pass
    with pytest.raises(FaultNeverFired, match="hold the request"), Broker() as other:
        other.hold("Heartbeat")


def test_what_makes_no_sense_is_refused(broker: Broker, client: Client) -> None:
    with pytest.raises(BadFault, match="there is no place to hold at 'noon'"):
        broker.hold("Heartbeat", at="noon")
    with broker.hold("ApiVersions") as held:
        client.send(ApiVersionsRequest(), 0)
        request = held.wait()
        with pytest.raises(BadFault, match="there is no error 'OOPS'"):
            request.refuse("OOPS")
        with pytest.raises(BadFault, match="ApiVersionsRequest has no field 'topic'"):
            request.change(topic="x")
    with pytest.raises(BadFault, match="is not held any more: it was let go"):
        request.let_go()


def test_rebalance_stands_still_while_its_leader_is_held() -> None:
    """Of two real consumers; who leads is known to the broker, not to the test."""
    settings = {"num.partitions": 2, "group.initial.rebalance.delay.ms": 3_000}
    with Broker(clock="virtual", settings=settings) as kafka:
        kafka.topic("orders").create()
        consumers = [
            Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "kitchen", "client.id": name})
            for name in ("ana", "bo")
        ]
        kitchen, threads = kafka.group("kitchen"), ThreadPoolExecutor()
        for consumer in consumers:
            consumer.subscribe(["orders"])
        with kafka.hold("SyncGroup", group="kitchen", role="leader") as held:
            polls = [threads.submit(consumer.poll, 1) for consumer in consumers]
            kitchen.wait_for(members=2)
            kafka.advance(10_000)  # it waits once more, for somebody came
            request = held.wait()
            assert kitchen.state == "CompletingRebalance"
            assert request.request.member_id == kitchen.leader
            assert len(request.request.assignments) == 2
        kitchen.wait_for(state="Stable")
        for poll in polls:
            poll.result()
        for consumer in consumers:
            consumer.close()
        threads.shutdown()


async def test_asyncio_programs_await_what_is_held() -> None:
    """aiokafka in the very loop that waits."""
    async with Broker() as kafka:
        kafka.topic("orders").produce(b"one")
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest", retry_backoff_ms=5
        )
        with kafka.hold("Fetch", topic="orders") as held:
            await consumer.start()
            reading = asyncio.ensure_future(consumer.getone())
            request = await held.aio.wait()
            assert not reading.done()
            request.refuse("NOT_LEADER_OR_FOLLOWER")
            await held.aio.wait(2)
            with pytest.raises(NotInTime, match="has held 2, not 3"):
                await held.aio.wait(3, timeout_s=0)
        assert (await reading).value == b"one"
        await consumer.stop()


def test_requests_that_are_long_to_handle_are_held_as_others() -> None:
    """Compressed batches are unpacked in slices, wherever that begins."""
    with Broker() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "compression.type": "lz4", "linger.ms": 50})
        with kafka.hold("Produce") as held:
            for _ in range(500):
                producer.produce("orders", b"x" * 500)
            held.wait()
            assert kafka.topic("orders").records() == []
        assert producer.flush(10) == 0
        assert len(kafka.topic("orders").records()) == 500


def test_fetches_that_wait_are_held_too(broker: Broker, client: Client) -> None:
    """Their answers, when there is something to read; the log goes on meanwhile."""
    create(client, "queue")
    with broker.hold("Fetch", topic="queue", at="answer") as held, Client(broker.bootstrap_servers) as reader:
        reader.send(fetch_request(("queue", 0), max_wait_ms=600_000), 11)
        client.ask(produce_request(("queue", 0)), 7)
        held.wait()
        client.ask(produce_request(("queue", 0)), 7)
        held.let_go()
        assert fetched(reader.receive().message) == {("queue", 0): (0, True)}

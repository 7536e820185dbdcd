"""What gets lost, comes late, comes twice, or comes in pieces; and connections that end."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.heartbeat import HeartbeatResponse
from ottla.protocol.primitives import Message
from tests.control.faults.scene import create, fault, heartbeat, produce, produce_request
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


def creating(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 1, 1)], timeout_ms=1000)


# ── Losing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("verb", ["drop_request", "black_hole"])
def test_lost_request_has_no_effect_and_its_client_waits(broker: RunningBroker, client: Client, verb: str) -> None:
    """Others are served meanwhile."""
    lost = fault(broker, api="CreateTopics", **{verb: True})
    with Client(broker.bootstrap) as other:
        other.send(creating("lost"), 5)
        broker.wait_until("it has come", lambda: lost.hit_count)
        assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        assert not other.connection.has_received
    assert "lost" not in broker.server.cluster.topics


def test_lost_answer_has_had_its_effect(broker: RunningBroker) -> None:
    fault(broker, api="CreateTopics", drop_answer=True)
    with Client(broker.bootstrap) as other:
        other.send(creating("unheard"), 5)
        broker.wait_until("it is there", lambda: "unheard" in broker.server.cluster.topics)
        assert not other.connection.has_received


def test_black_hole_swallows_all_of_one_client(broker: RunningBroker, client: Client) -> None:
    """Whatever it asks; others are told."""
    fault(broker, client_id="bo", black_hole=True)
    with Client(broker.bootstrap, client_id="bo") as bo:
        bo.send(ApiVersionsRequest(), 0)
        assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
        assert not bo.connection.has_received


def test_request_takes_effect_twice_and_is_answered_once() -> None:
    """The answer is that of the second time, as when a client tries again."""
    with RunningBroker() as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        fault(broker, api="Produce", duplicate=True, once=True)
        assert produce(client, ("orders", 0)) == {("orders", 0): (0, 1)}
        assert produce(client, ("orders", 0)) == {("orders", 0): (0, 2)}
        fault(broker, api="CreateTopics", duplicate=True, once=True)
        assert client.ask(creating("twice"), 5).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


# ── Delaying ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("verb", ["delay", "delay_answer"])
def test_delays_go_by_the_brokers_clock(broker: RunningBroker, client: Client, verb: str) -> None:
    """Nothing comes before the time is up. A delayed request has no effect before, a delayed answer all of it."""
    late = fault(broker, api="CreateTopics", **{verb: 3_000}, once=True)
    client.send(creating(verb), 5)
    broker.wait_until("it has come", lambda: late.hit_count)
    broker.advance(2_999)
    assert (verb in broker.server.cluster.topics) is (verb == "delay_answer")
    assert not client.connection.has_received
    broker.advance(1)
    assert client.receive().message.topics[0].error_code == ErrorCode.NONE


def test_faults_happen_to_a_request_one_after_the_other(broker: RunningBroker, client: Client) -> None:
    """In the order in which they were set, and of one in the order in which they are said."""
    fault(broker, api="Heartbeat", delay=1_000, answer="REBALANCE_IN_PROGRESS", once=True)
    throttled = fault(broker, client_id="ana", throttle=7, once=True)
    client.send(heartbeat(), 3)
    broker.wait_until("it has come", lambda: throttled.hit_count)
    broker.advance(1_000)
    assert client.receive().message == HeartbeatResponse(7, ErrorCode.REBALANCE_IN_PROGRESS)


def test_disk_that_is_slow_delays_appends_alone(broker: RunningBroker, client: Client) -> None:
    slow = fault(broker, topic="orders", slow_disk=500)
    client.send(produce_request(("orders", 0)), 7)
    broker.wait_until("it has come", lambda: slow.hit_count)
    broker.advance(499)
    assert not client.connection.has_received
    broker.advance(1)
    assert client.receive().message.responses[0].name == "orders"


# ── Ends ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reset", [False, True], ids=["close", "reset"])
@pytest.mark.parametrize(
    ("when", "bytes_left", "is_done"),
    [
        ({"at": "request"}, 0, False),
        ({"at": "answer"}, 0, True),
        ({"after_bytes": 17}, 17, True),
        ({"at": "end"}, 40, True),
    ],
    ids=["request", "answer", "byte 17", "end"],
)
def test_connection_ends(
    broker: RunningBroker, client: Client, reset: bool, when: dict[str, object], bytes_left: int, is_done: bool
) -> None:
    """Before the request has its effect, or before, within or after its answer."""
    name = f"cut-{reset}-{bytes_left}-{is_done}"
    fault(broker, api="CreateTopics", cut={**when, "reset": reset}, once=True)
    client.send(creating(name), 5)
    received, was_reset = client.connection.receive_rest()
    assert (len(received) if bytes_left < 40 else min(len(received), 40), was_reset) == (bytes_left, reset)
    assert (name in broker.server.cluster.topics) is is_done


def test_request_without_an_answer_ends_the_connection_all_the_same(broker: RunningBroker, client: Client) -> None:
    """Produce with acks=0."""
    fault(broker, api="Produce", cut={"at": "answer"})
    node_id = broker.look(lambda: broker.server.cluster.topics["orders"].placements[0].leader_id)
    with Client(broker.server.bootstrap.split(",")[node_id - 1]) as leader:
        leader.send(produce_request(("orders", 0), acks=0), 7, answered=False)
        assert leader.connection.receive_rest() == (b"", False)


def test_answer_trickles(broker: RunningBroker, client: Client) -> None:
    """Four bytes at a time; what is behind it waits for its last one."""
    answered = {"answer": "REBALANCE_IN_PROGRESS", "trickle": {"bytes_count": 4, "every_ms": 100}}
    slow = fault(broker, api="Heartbeat", **answered, once=True)
    client.send(heartbeat(), 0)
    client.send(heartbeat(), 0)
    broker.wait_until("it has come", lambda: slow.hit_count)
    broker.advance(99)
    assert client.connection.receive_bytes(4) == (6).to_bytes(4, "big")
    assert not client.connection.has_received
    broker.advance(1)
    client.connection.receive_bytes(4)
    assert not client.connection.has_received
    broker.advance(100)
    assert client.connection.receive_bytes(2) == ErrorCode.REBALANCE_IN_PROGRESS.to_bytes(2, "big")
    assert len(client.connection.receive_frame()) == 6


def test_nothing_trickles_to_who_is_gone(broker: RunningBroker, client: Client) -> None:
    """And no timer goes on for it."""
    slow = fault(broker, api="Heartbeat", trickle={"bytes_count": 1, "every_ms": 100}, once=True)
    pending, port = broker.look(lambda: broker.server.timer.size), client.connection.port
    client.send(heartbeat(), 0)
    broker.wait_until("it has come", lambda: slow.hit_count)
    client.connection.reset()
    broker.wait_until("it is gone", lambda: broker.connection_of(port) is None)
    broker.advance(100)
    assert broker.look(lambda: broker.server.timer.size) <= pending


# ── Connecting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def was_turned_away(bootstrap: str) -> bool:
    """Whether who connects there gets a reset; else the connection is closed in order."""
    try:
        with Client(bootstrap) as turned_away:
            received, was_reset = turned_away.connection.receive_rest()
    except ConnectionResetError:  # so soon
        return True
    assert received == b""
    return was_reset


@pytest.mark.parametrize("reset", [False, True], ids=["close", "reset"])
def test_who_connects_is_turned_away(broker: RunningBroker, client: Client, reset: bool) -> None:
    """At the node that is aimed at; those who are connected already stay."""
    client.ask(ApiVersionsRequest(), 0)
    away = fault(broker, node=1, turn_away={"reset": reset}, once=True)
    first, second = broker.server.bootstrap.split(",")
    with Client(second) as other:
        assert other.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    assert was_turned_away(first) == reset
    assert [(hit.node_id, hit.client_host) for hit in away.hits] == [(1, "/127.0.0.1")]
    with Client(first) as other:
        assert other.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
    assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


def test_connections_are_told_apart_by_a_predicate(broker: RunningBroker, client: Client) -> None:
    """By the client id of the request that came on them, among others."""
    ours = client.connection.port
    fault(
        broker, connection=lambda c: c.client_id == "ana" and c.client_port == ours, cut={"after_bytes": 3}, once=True
    )
    with Client(broker.bootstrap, client_id="ana") as other:
        asked: Message = ApiVersionsRequest()
        assert other.ask(asked, 0).error_code == ErrorCode.NONE
    client.send(ApiVersionsRequest(), 0)
    assert len(client.connection.receive_rest()[0]) == 3

"""GET /events: what happens in the broker, as it happens, to whoever listens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from ottla.broker.network.call import Call
from ottla.control.api import feed, http
from ottla.control.api.feed import Feed
from ottla.events.kind import Kind
from ottla.events.stream import Stream
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.purgatory import VirtualClock
from tests.cli.script import Script
from tests.cli.stage import create
from tests.support import wire
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


@pytest.fixture
def script() -> Iterator[Script[RunningBroker]]:
    with RunningBroker(nodes=2, clock=VirtualClock(), with_control=True) as broker:
        yield Script(broker)


def listen(script: Script[RunningBroker], query: str = "") -> HTTPResponse:
    connection = script.connect()
    connection.request("GET", f"/events{query}")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
    return answer


def next_event(answer: HTTPResponse) -> dict[str, Any]:
    """The next one: its id and name are those in its data."""
    lines = [answer.readline().decode().rstrip("\n") for _ in range(4)]
    assert lines[3] == ""
    (sequence, name, data) = (line.partition(": ")[2] for line in lines[:3])
    event: dict[str, Any] = json.loads(data)
    assert (sequence, name) == (str(event["sequence"]), event["kind"])
    return event


def test_what_happens_is_sent_in_order(script: Script[RunningBroker]) -> None:
    """Topics, nodes, leaders, time: each with its sequence, its instant, its node and its details."""
    with Client(script.broker.bootstrap, client_id="ana") as client:
        client.ask(DescribeClusterRequest(), 1)  # it has come, and nobody will hear of that
        answer = listen(script)
        create(client, "orders", 2)
        created = next_event(answer)
        assert (created["kind"], created["node_id"]) == ("topic.created", None)
        assert created["details"].items() >= {"topic": "orders", "partitions": 2, "client_id": "ana"}.items()
        script.broker.run(script.broker.controlled.nodes.stop(2, hard=True))
        script.advance(9_000)
        rest: list[dict[str, Any]] = []
        while not rest or rest[-1]["kind"] != "time.advanced":
            rest.append(next_event(answer))
        kinds = [event["kind"] for event in rest]
        assert list(dict.fromkeys(kinds)) == [
            "node.stopped",
            "node.died",
            "partition.leader.changed",
            "leaders.moved",
            "node.missed",
            "time.advanced",
        ]
        assert [event["sequence"] for event in (created, *rest)] == list(
            range(created["sequence"], created["sequence"] + len(rest) + 1)
        )
        answer.close()


def test_a_listener_may_choose(script: Script[RunningBroker]) -> None:
    with listen(script, "?kind=node.*&kind=time.advanced") as answer, Client(script.broker.bootstrap) as client:
        create(client, "orders", 2)
        script.advance(5)
        assert next_event(answer)["details"] == {"ms": 5}


def test_connections_and_what_is_refused_of_them_are_sent(script: Script[RunningBroker]) -> None:
    """Who has come, that what it said makes no sense, and that it is gone; each with its node and listener."""
    with listen(script, "?kind=connection.*") as answer:
        with wire.Connection(script.broker.bootstrap) as nonsense:
            nonsense.send(b"\xff" * 8)
            with pytest.raises(wire.ConnectionClosedError):
                nonsense.receive_frame()
        opened, refused, closed = (next_event(answer) for _ in range(3))
        assert [event["kind"] for event in (opened, refused, closed)] == [
            "connection.opened",
            "connection.refused",
            "connection.closed",
        ]
        assert opened["details"] == closed["details"]
        assert opened["details"].items() >= {"listener": "PLAINTEXT", "client_host": "/127.0.0.1"}.items()
        assert opened["details"]["client_port"] > 0
        assert refused["details"]["frame"] == "ff ff ff ff ff ff ff ff"[: len(refused["details"]["frame"])]
        assert refused["node_id"] == opened["node_id"] == 1


def test_requests_that_are_refused_are_sent() -> None:
    """An answer that can't be written; and a transactional id that is given out."""
    query = "?kind=request.refused&kind=transaction.*"
    with (
        RunningBroker(with_control=True) as broker,
        listen(Script(broker), query) as answer,
        Client(broker.bootstrap, client_id="ana") as client,
    ):
        group_id = "g" * 32_767
        client.ask(FindCoordinatorRequest(group_id, 0), 2)
        client.ask(DescribeGroupsRequest([group_id]), 6)
        client.ask(FindCoordinatorRequest("payments", 1), 2)
        client.ask(InitProducerIdRequest("payments", 1_000), 1)
        refused, transaction = next_event(answer), next_event(answer)
        assert (refused["kind"], refused["node_id"]) == ("request.refused", 1)
        assert refused["details"].items() >= {"api": "DescribeGroups", "api_version": 6}.items()
        assert transaction["details"].items() >= {"transactional_id": "payments", "client_id": "ana"}.items()


def test_each_request_is_sent_only_to_who_asks_for_it(script: Script[RunningBroker]) -> None:
    """Without a wish, or with *, they stay out; and nothing is made of them once nobody listens any more."""
    events = script.broker.server.events
    with listen(script), listen(script, "?kind=*"), Client(script.broker.bootstrap, client_id="ana") as client:
        assert not script.broker.look(lambda: events.is_read(Kind.REQUEST_HANDLED))
        with listen(script, "?kind=request.*") as answer:
            client.ask(DescribeClusterRequest(), 1)
            handled = next_event(answer)
            assert (handled["kind"], handled["node_id"]) == ("request.handled", 1)
            said = {"api": "DescribeCluster", "api_version": 1, "client_id": "ana"}
            assert handled["details"].items() >= said.items()
        script.broker.wait_until("nobody listens", lambda: not events.is_read(Kind.REQUEST_HANDLED))
        assert {connection.new_call for connection in script.broker.connections} == {Call}


@pytest.mark.parametrize("query", ["?kind=nonsense.*", "?kind=", "?since=5"])
def test_a_wish_that_nobody_can_fulfil_is_refused(script: Script[RunningBroker], query: str) -> None:
    status, answer = script.ask("GET", f"/events{query}")
    assert (status, list(answer)) == (400, ["error"])


def test_the_end_of_the_broker_ends_the_answer_in_order(script: Script[RunningBroker]) -> None:
    """No listener keeps the broker up, and none sees its answer torn."""
    with listen(script) as answer:
        script.broker.stop()
        assert answer.read() == b""


def test_nobody_reads_for_a_listener_that_has_gone(script: Script[RunningBroker]) -> None:
    """Of each request, which the timeline leaves out."""
    events = script.broker.server.events
    with listen(script, "?kind=request.handled"):
        script.broker.wait_until("it is read", lambda: events.is_read(Kind.REQUEST_HANDLED))
    script.broker.wait_until("nobody reads", lambda: not events.is_read(Kind.REQUEST_HANDLED))


def test_head_has_no_body(script: Script[RunningBroker]) -> None:
    connection = script.connect()
    connection.request("HEAD", "/events")
    with connection.getresponse() as answer:
        assert (answer.status, answer.read()) == (200, b"")


async def test_who_falls_behind_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It still gets what waited for it, and the stream is rid of it."""
    monkeypatch.setattr(feed, "WAITING_EVENTS_MAX", 2)
    events = Stream(lambda: 0, lambda: 0)
    behind = Feed(events, [Kind.TIME_ADVANCED])
    for ms in range(4):
        events.tell(Kind.TIME_ADVANCED, ms=ms)
    assert not events.is_read(Kind.TIME_ADVANCED)
    assert (await behind.next()).count(b"data: ") == 2
    assert await behind.next() == b""


async def test_what_waits_for_a_reader_is_bounded_in_bytes_and_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Client ids may have 30 KB: ten thousand events of them would be 300 MB."""
    monkeypatch.setattr(feed, "WAITING_BYTES_MAX", 100_000)
    events = Stream(lambda: 0, lambda: 0)
    behind = Feed(events, [Kind.TOPIC_CREATED])
    for number in range(5):
        events.tell(Kind.TOPIC_CREATED, topic=f"orders-{number}", client_id="x" * 30_000)
    assert not events.is_read(Kind.TOPIC_CREATED)
    behind.drop()
    assert await behind.next() == b""


def test_followers_are_counted_apart_and_one_too_many_is_told_why(
    script: Script[RunningBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many follow, questions are answered."""
    monkeypatch.setattr(http, "FOLLOWERS_MAX", 2)
    monkeypatch.setattr(http, "CONNECTIONS_MAX", 2)
    followers = [listen(script) for _ in range(2)]
    status, answer = script.ask("GET", "/clock")
    assert (status, answer["clock"]) == (200, "virtual")
    status, answer = script.ask("GET", "/events")
    assert (status, answer["error"]) == (503, "the control API has 2 followers of events already; close some")
    for follower in followers:
        follower.close()

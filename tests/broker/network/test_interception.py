"""Stepping in between a connection and a handler: what a fault may want to do to a request or an answer can be said."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.broker.network.call import Call, LongCall
from ottla.broker.network.interception import InterceptedCall, Rehearsal
from ottla.broker.network.route import Route
from ottla.broker.network.routes import Routes
from ottla.pacing import Pace, costs
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.primitives import Message
from ottla.security.authorizer import ANONYMOUS
from tests.support.batches import batch
from tests.support.client import Client, api_of
from tests.support.running_broker import Loop, RunningBroker, every_loop

OnRequest = Callable[[InterceptedCall], object]
OnAnswer = Callable[[InterceptedCall, Message | None], object]


class Interceptor:
    """Does with requests and answers of some APIs what it is told, keeps them, and lets all others pass."""

    def __init__(self, *apis: str, request: OnRequest | None = None, answer: OnAnswer | None = None) -> None:
        self.apis = apis
        self.calls: list[InterceptedCall] = []
        self.answers: list[tuple[InterceptedCall, Message | None]] = []
        self._request = request
        self._answer = answer

    def request(self, call: InterceptedCall) -> None:
        if self._request is None or call.route.name not in self.apis:
            call.proceed()
        else:
            self.calls.append(call)
            self._request(call)

    def answer(self, call: InterceptedCall, response: Message | None) -> None:
        if self._answer is None or call.route.name not in self.apis:
            call.leave(response)
        else:
            self.answers.append((call, response))
            self._answer(call, response)


def nothing(*_: object) -> None:
    """What is done to what gets lost, or has to wait for the test."""


@pytest.fixture(scope="module")
def shared_broker() -> Iterator[RunningBroker]:
    """With a coordinator, and with topics and groups that nobody counts."""
    with RunningBroker(may_fail=True) as broker:
        with Client(broker.bootstrap) as client:
            client.ask(FindCoordinatorRequest("g"), 1)
        yield broker


@pytest.fixture
def broker(shared_broker: RunningBroker) -> Iterator[RunningBroker]:
    """In which nobody steps in at first."""
    yield shared_broker
    intercept(shared_broker, None)


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[Client]:
    with Client(broker.bootstrap, client_id="ana") as client:
        yield client


def intercept(broker: RunningBroker, interceptor: Interceptor | None) -> None:
    broker.look(lambda: broker.server.shared.routes.intercept(interceptor))


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 1, 1)], timeout_ms=1000)


def heartbeat(member_id: str = "nobody") -> HeartbeatRequest:
    """Answered UNKNOWN_MEMBER_ID, by the group's task."""
    return HeartbeatRequest("g", 1, member_id)


def frame_of(response: Message, version: int, correlation_id: int) -> bytes:
    """The frame with this answer, of a version that is not flexible."""
    body = response.encode(version)
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


# ── What it costs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nobody_stands_between_while_nobody_steps_in() -> None:
    """A route leads to the module's own function, before an interceptor and after it."""
    routes, key_and_version = Routes(), struct.pack(">hh", 12, 4)
    handler = import_module("ottla.broker.handlers.heartbeat").handle
    assert routes.find(key_and_version).handle is handler
    routes.intercept(Interceptor())
    route = routes.get(key_and_version)
    assert route is not None
    assert route.handle is not handler
    assert routes.find(struct.pack(">hh", 3, 0)).handle is not routes.find(struct.pack(">hh", 3, 0)).handler
    routes.intercept(None)
    assert route.handle is handler


@pytest.mark.parametrize(("call_class", "is_long"), [(Call, False), (LongCall, True)])
def test_what_goes_on_later_is_worked_off_as_the_request_is(call_class: type[Call], is_long: bool) -> None:
    """A long one by a worker, who counts what it costs, whoever stands between."""
    connection: Any = SimpleNamespace(node=None, pace=Pace(nothing))
    call = InterceptedCall(call_class(connection, Route(0, 9), 1, "ana", Message()), nothing, Interceptor())
    is_worked_off: list[bool] = []
    for stand_in in (call, Rehearsal(call, nothing)):
        stand_in.go_on(lambda: is_worked_off.append(costs() is not None))
    assert is_worked_off == [is_long, is_long]


# ── What is seen ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_everything_about_a_request_and_its_answer_is_seen(broker: RunningBroker, client: Client) -> None:
    """On connections that were there before, too."""
    client.ask(ApiVersionsRequest(), 0)
    interceptor = Interceptor(
        "Heartbeat", request=InterceptedCall.proceed, answer=lambda call, response: call.leave(response)
    )
    intercept(broker, interceptor)
    assert client.ask(heartbeat("bo"), 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    (call,) = interceptor.calls
    assert (call.route.name, call.api_version, call.client_id, call.client_host) == (
        "Heartbeat",
        3,
        "ana",
        "/127.0.0.1",
    )
    assert (call.principal, call.listener_name, call.node.node_id) == (ANONYMOUS, "PLAINTEXT", 1)
    assert call.connection is broker.look(lambda: broker.connection_of(client.connection.port))
    assert call.request == heartbeat("bo")
    assert interceptor.answers == [(call, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))]


def test_request_without_an_answer_is_seen_to_have_none(broker: RunningBroker, client: Client) -> None:
    """Produce with acks=0."""
    client.ask(create("unanswered"), 5)
    interceptor = Interceptor("Produce", answer=lambda call, response: call.leave(response))
    intercept(broker, interceptor)
    data = [ProduceRequest.PartitionProduceData(0, batch())]
    produced = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="unanswered", partition_data=data)])
    client.send(produced, 3, answered=False)
    client.ask(ApiVersionsRequest(), 0)
    assert [response for _, response in interceptor.answers] == [None]


def test_unknown_version_of_api_versions_is_seen_too(broker: RunningBroker, client: Client) -> None:
    """Its route is made anew each time."""
    interceptor = Interceptor("ApiVersions", answer=lambda call, response: call.leave(response))
    intercept(broker, interceptor)
    api = api_of(ApiVersionsRequest())
    client.send_body(api, 99, b"", answered_as=0)
    assert client.receive().message.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [type(response) for _, response in interceptor.answers] == [ApiVersionsResponse]


# ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_request_is_answered_with_an_error_in_its_own_form(broker: RunningBroker, client: Client) -> None:
    """The handler never hears of it; neither is its answer asked for."""
    interceptor = Interceptor(
        "CreateTopics", request=lambda call: call.refuse(ErrorCode.NOT_CONTROLLER), answer=nothing
    )
    intercept(broker, interceptor)
    (answer,) = client.ask(create("refused"), 5).topics
    assert (answer.name, answer.error_code) == ("refused", ErrorCode.NOT_CONTROLLER)
    assert "refused" not in broker.server.cluster.topics
    assert interceptor.answers == []


def test_request_is_lost(broker: RunningBroker, client: Client) -> None:
    """Nothing comes of it, and what is behind it waits, as behind a broker that hangs."""
    intercept(broker, interceptor := Interceptor("CreateTopics", request=nothing))
    client.send(create("lost"), 5)
    client.send(create("behind"), 5)
    broker.wait_until("it has come", lambda: interceptor.calls)
    with Client(broker.bootstrap) as other:
        assert other.ask(ListGroupsRequest(), 0).error_code == ErrorCode.NONE
    assert broker.server.cluster.topics.keys().isdisjoint({"lost", "behind"})
    broker.look(interceptor.calls[0].connection.close)
    assert client.connection.receive_rest() == (b"", False)


@pytest.mark.parametrize("late", [create("late"), heartbeat()], ids=["at once", "group"])
def test_request_comes_later(broker: RunningBroker, client: Client, late: Message) -> None:
    """What is behind it is not even taken up, though heartbeats of a group otherwise would be."""

    def after_the_first(call: InterceptedCall) -> None:
        if len(first.calls) > 1:
            call.proceed()

    first = Interceptor("CreateTopics", "Heartbeat", request=after_the_first)
    intercept(broker, first)
    version = 5 if isinstance(late, CreateTopicsRequest) else 0
    client.send(late, version)
    client.send(heartbeat("behind"), 0)
    broker.wait_until("it has come", lambda: first.calls)
    assert "late" not in broker.server.cluster.topics
    assert len(first.calls) == 1
    broker.look(first.calls[0].proceed)
    client.receive()
    assert client.receive().message.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(first.calls) == 2
    assert ("late" in broker.server.cluster.topics) == isinstance(late, CreateTopicsRequest)

    def tidy_up() -> None:
        if topic := broker.server.cluster.topics.get("late"):
            broker.server.cluster.delete_topic(topic)

    broker.look(tidy_up)


# ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_answer_is_lost(broker: RunningBroker, client: Client) -> None:
    """What was asked is done."""
    intercept(broker, interceptor := Interceptor("CreateTopics", answer=nothing))
    client.send(create("done"), 5)
    until_answered(broker, interceptor, 1)
    assert "done" in broker.server.cluster.topics
    broker.look(interceptor.answers[0][0].connection.close)
    assert client.connection.receive_rest() == (b"", False)


def test_answer_is_another_one(broker: RunningBroker, client: Client) -> None:
    """What was asked is done, and the client is told that it failed."""
    intercept(broker, Interceptor("CreateTopics", answer=lambda call, _: call.refuse(ErrorCode.REQUEST_TIMED_OUT)))
    assert client.ask(create("really"), 5).topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "really" in broker.server.cluster.topics


def test_answer_comes_later_and_those_behind_it_after_it(broker: RunningBroker, client: Client) -> None:
    """Of heartbeats, which the group answers without waiting for each other."""

    def after_the_first(call: InterceptedCall, response: Message | None) -> None:
        if len(first.answers) > 1:
            call.leave(response)

    first = Interceptor("Heartbeat", answer=after_the_first)
    intercept(broker, first)
    for member_id in ("late", "prompt"):
        client.send(heartbeat(member_id), 0)
    until_answered(broker, first, 2)
    assert not client.connection.has_received
    call, response = first.answers[0]
    broker.look(lambda: call.leave(response))
    for _ in range(2):
        assert client.receive().message.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_answer_that_is_given_later_by_somebody_else_passes_too(broker: RunningBroker, client: Client) -> None:
    """A fetch waits in the purgatory, and ends when its client says that it will send nothing more."""
    client.ask(create("waited-for"), 5)
    intercept(broker, interceptor := Interceptor("Fetch", answer=lambda call, response: call.leave(response)))
    asked = [FetchRequest.FetchTopic("waited-for", partitions=[FetchRequest.FetchPartition(0)])]
    client.send(FetchRequest(max_wait_ms=600_000, min_bytes=1, max_bytes=1000, topics=asked), 4)
    broker.wait_until("it waits", lambda: broker.server.services.delayed_operations.fetch.delayed)
    assert interceptor.answers == []
    client.connection.end()
    assert client.receive().message.responses[0].partitions[0].error_code == ErrorCode.NONE
    assert len(interceptor.answers) == 1


def test_request_whose_client_has_gone_waits_no_longer(broker: RunningBroker, client: Client) -> None:
    """The handler hears of it, though it has another call in its hands than the connection."""
    client.ask(create("abandoned"), 5)
    intercept(broker, Interceptor("Fetch", request=InterceptedCall.proceed))
    asked = [FetchRequest.FetchTopic("abandoned", partitions=[FetchRequest.FetchPartition(0)])]
    client.send(FetchRequest(max_wait_ms=600_000, min_bytes=1, max_bytes=1000, topics=asked), 4)
    broker.wait_until("it waits", lambda: broker.server.services.delayed_operations.fetch.delayed)
    client.connection.reset()
    broker.wait_until("nobody waits", lambda: not broker.server.services.delayed_operations.fetch.delayed)


# ── The end of the connection ─────────────────────────────────────────────────────────────────────────────────────────

HEARTBEAT_FRAME = frame_of(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), 0, 2)


@every_loop
@pytest.mark.parametrize("reset", [False, True], ids=["close", "reset"])
def test_connection_ends_before_within_or_after_an_answer(loop: Loop, reset: bool) -> None:
    """After so many of its bytes. What is in front of it leaves whole, even if that comes later; nothing behind it."""
    with RunningBroker(loop) as broker:
        with Client(broker.bootstrap) as client:
            client.ask(FindCoordinatorRequest("g"), 1)
        for bytes_count in range(len(HEARTBEAT_FRAME) + 1):
            intercept(broker, interceptor := Interceptor("Heartbeat", answer=nothing))
            with Client(broker.bootstrap) as client:
                for member_id in ("whole", "part", "behind"):
                    client.send(heartbeat(member_id), 0)
                until_answered(broker, interceptor, 3)
                (whole, part, behind), response = (call for call, _ in interceptor.answers), interceptor.answers[0][1]
                assert response is not None
                broker.look(partial(behind.leave, response))
                broker.look(partial(part.leave_part, response, bytes_count, reset=reset))
                assert not client.connection.has_received
                broker.look(partial(whole.leave, response))
                assert client.receive().message == response
                assert client.connection.receive_rest() == (HEARTBEAT_FRAME[:bytes_count], reset)
        broker.wait_until("nobody is connected", lambda: not broker.connections)


def until_answered(broker: RunningBroker, interceptor: Interceptor, count: int) -> None:
    broker.wait_until(f"{count} are answered", lambda: len(interceptor.answers) == count)


@pytest.mark.parametrize("reset", [False, True], ids=["close", "reset"])
def test_connection_ends_before_the_request_is_handled(broker: RunningBroker, client: Client, reset: bool) -> None:
    def end(call: InterceptedCall) -> None:
        (call.connection.reset if reset else call.connection.close)()

    intercept(broker, Interceptor("CreateTopics", request=end))
    client.send(create("never"), 5)
    assert client.connection.receive_rest() == (b"", reset)
    assert "never" not in broker.server.cluster.topics


def test_large_answer_ends_in_its_middle(broker: RunningBroker, client: Client) -> None:
    """Larger than what the sockets between take at once: all bytes that are to leave do."""
    client.ask(create("large"), 5)
    records = batch([(None, bytes(900_000))])
    for _ in range(8):
        data = [ProduceRequest.PartitionProduceData(0, records)]
        produced = [ProduceRequest.TopicProduceData(name="large", partition_data=data)]
        client.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=produced), 3)

    def cut(call: InterceptedCall, response: Message | None) -> None:
        assert response is not None
        call.leave_part(response, 5_000_000)

    intercept(broker, Interceptor("Fetch", answer=cut))
    asked = [FetchRequest.FetchTopic("large", partitions=[FetchRequest.FetchPartition(0, partition_max_bytes=2**30)])]
    client.send(FetchRequest(max_bytes=2**30, topics=asked), 4)
    received, was_reset = client.connection.receive_rest()
    assert (len(received), was_reset) == (5_000_000, False)


def test_what_is_decided_about_a_client_that_has_gone_does_nothing(broker: RunningBroker) -> None:
    """Requests and answers that were held back have nobody to go to."""
    interceptor = Interceptor("Heartbeat", "CreateTopics", request=InterceptedCall.proceed, answer=nothing)
    intercept(broker, interceptor)
    with Client(broker.bootstrap) as client:
        client.send(heartbeat(), 0)
        until_answered(broker, interceptor, 1)
        client.connection.reset()
    (call, response) = interceptor.answers[0]
    assert response is not None
    broker.wait_until("its client has gone", lambda: call.connection not in broker.connections)
    broker.look(lambda: call.leave_part(response, 3))
    broker.look(lambda: call.leave(response))


# ── Faults of the interceptor ─────────────────────────────────────────────────────────────────────────────────────────


def fail(*_: Any) -> None:
    raise RuntimeError("the interceptor's own fault")


def test_what_an_interceptor_raises_is_answered_and_disturbs_nobody(broker: RunningBroker, client: Client) -> None:
    """UNKNOWN_SERVER_ERROR, from the group's task too, which goes on."""
    for interceptor in (Interceptor("Heartbeat", request=fail), Interceptor("Heartbeat", answer=fail)):
        intercept(broker, interceptor)
        assert client.ask(heartbeat(), 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    intercept(broker, None)
    assert client.ask(heartbeat(), 0).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(broker.log.named("request.failed")) == 2


def test_what_a_handler_raises_or_refuses_ends_as_ever(
    broker: RunningBroker, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer UNKNOWN_SERVER_ERROR that nobody steps in before; or the end of the connection."""
    interceptor = Interceptor("Metadata", "Produce", request=InterceptedCall.proceed, answer=nothing)
    intercept(broker, interceptor)
    module = import_module("ottla.broker.handlers.metadata")
    monkeypatch.setattr(module, "_by_name", fail)
    asked = MetadataRequest([MetadataRequest.MetadataRequestTopic(name="any")])
    assert client.ask(asked, 13).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    data = [ProduceRequest.PartitionProduceData(0, b"no batch at all, of no magic that any broker knows")]
    produced = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="any", partition_data=data)])
    client.send(produced, 3, answered=False)
    assert client.connection.receive_rest() == (b"", False)
    assert interceptor.answers == []

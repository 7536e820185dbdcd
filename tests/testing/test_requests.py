"""What clients have asked and were answered, where a test wants to know."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.broker.network.call import Call
from ottla.broker.network.route import Route
from ottla.control.state.requests import RequestRecorder
from ottla.events.kind import Kind
from ottla.events.stream import Stream
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.fetch import FetchRequest, FetchResponse
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import Message
from ottla.testing import Broker
from tests.support.client import Client
from tests.testing.consuming import consuming


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(record_requests=True) as broker:
        yield broker


def test_what_a_test_does_to_a_request_no_client_notices(kafka: Broker) -> None:
    """The broker remembers what is said again, and gives some answers again: what is handed out is a copy."""
    asked = HeartbeatRequest("kitchen", 1, "ana")
    with Client(kafka.bootstrap_servers) as client, Client(kafka.bootstrap_servers) as other:
        client.ask(MetadataRequest([]), 12)
        versions = client.ask(ApiVersionsRequest("soup", "1"), 3)
        client.ask(asked, 4)
        for received in kafka.requests():
            spoil(received.request)
            spoil(received.answer)
        client.ask(asked, 4)
        assert other.ask(ApiVersionsRequest("soup", "1"), 3) == versions
    assert [beat.request for beat in kafka.requests("Heartbeat")] == [asked] * 2


def spoil(message: Message) -> None:
    """Change each of its fields, and empty its lists."""
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, Message):
                    spoil(item)
            value.clear()
        setattr(message, name, "spoilt")


def test_requests_and_answers_are_seen_decoded(kafka: Broker) -> None:
    """By API, group and client, in the order in which they came."""
    kafka.topic("orders").produce("soup")
    with consuming(
        kafka.bootstrap_servers,
        "kitchen",
        "orders",
        on_message=lambda consumer, message: consumer.commit(message=message, asynchronous=False),
    ):
        kafka.group("kitchen").wait_for_commit("orders", 0, at_least=1)
        kafka.wait_until_idle()
        (commit,) = kafka.requests("OffsetCommit", group="kitchen", client_id="a*")
    assert commit.request.topics[0].partitions[0].committed_offset == 1
    assert commit.answer.topics[0].partitions[0].error_code == 0
    assert (commit.api, commit.client_id, commit.node_id, commit.group_id) == ("OffsetCommit", "ana", 1, "kitchen")
    assert commit.errors == []
    assert commit.answered_after_ms is not None
    assert str(commit) == f"OffsetCommit v{commit.api_version} of kitchen from ana: answered"
    joins = kafka.requests("JoinGroup", group="kitchen")
    assert [join.errors for join in joins] == [["MEMBER_ID_REQUIRED"], []]
    assert [request.api for request in kafka.requests("*Group", group="kitchen")][:3] == [
        "JoinGroup",
        "JoinGroup",
        "SyncGroup",
    ]
    assert kafka.requests("OffsetCommit", group="nobody") == []


def test_assertion_counts_requests(kafka: Broker) -> None:
    """And says what has come instead."""
    with Client(kafka.bootstrap_servers, client_id="ana") as client:
        client.ask(ApiVersionsRequest(), 0)
        mark = kafka.mark()
        client.ask(HeartbeatRequest("kitchen", 1, "ana-1"), 0)
        client.ask(HeartbeatRequest("kitchen", 1, "ana-1"), 0)
    kafka.assert_received("Heartbeat")
    kafka.assert_received("Heartbeat", group="kitchen", client_id="ana", exactly=2, at_most=2)
    kafka.assert_received("ApiVersions", exactly=0, since=mark)
    with pytest.raises(AssertionError) as failure:
        kafka.assert_received("Heartbeat", group="office", at_least=1)
    said = str(failure.value)
    assert said.startswith(
        "at least 1 wanted, and 0 Heartbeat of group office were received; of all: Heartbeat 2, ApiVersions 1\n\nWhat"
    )
    with pytest.raises(AssertionError, match="exactly 0 wanted, and 1 ApiVersions was received"):
        kafka.assert_received("ApiVersions", exactly=0)


def test_api_that_kafka_has_not_is_an_error(kafka: Broker) -> None:
    with pytest.raises(ValueError, match="there is no API called 'OfsetCommit'; did you mean OffsetCommit"):
        kafka.assert_received("OfsetCommit", exactly=0)


def test_without_recording_nothing_can_be_asked() -> None:
    """Rather than an empty list, which would prove anything."""
    with Broker() as kafka, pytest.raises(RuntimeError, match="requests are not recorded; make it Broker"):
        kafka.requests()


def test_reset_forgets_them(kafka: Broker) -> None:
    with Client(kafka.bootstrap_servers) as client:
        client.ask(MetadataRequest([]), 4)
        assert kafka.requests("Metadata")
        kafka.reset()
        assert kafka.requests() == []


def test_what_a_fault_makes_of_an_answer_is_what_is_seen(kafka: Broker) -> None:
    """An answer that is lost is none; one that is cut is seen whole."""

    class Lossy:
        """Loses Heartbeat, cuts FindCoordinator, refuses Metadata."""

        def request(self, call):  # type: ignore[no-untyped-def]
            call.proceed()

        def answer(self, call, response):  # type: ignore[no-untyped-def]
            if call.route.name == "Metadata":
                call.refuse(41)
            elif call.route.name == "FindCoordinator":
                call.leave_part(response, 3)
            elif call.route.name != "Heartbeat":
                call.leave(response)

    kafka.look(lambda broker: broker.server.shared.routes.intercept(Lossy()))
    with Client(kafka.bootstrap_servers) as client:
        client.ask(ApiVersionsRequest(), 0)
        client.ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="orders")]), 4)
    with Client(kafka.bootstrap_servers) as client:
        client.send(FindCoordinatorRequest("kitchen"), 0)
        assert len(client.connection.receive_rest()[0]) == 3
    with Client(kafka.bootstrap_servers) as client:
        client.send(HeartbeatRequest("kitchen", 1, "ana-1"), 0)
        with Client(kafka.bootstrap_servers) as other:
            other.ask(ApiVersionsRequest(), 0)  # it has come behind the heartbeat
    assert [str(request).rpartition(": ")[2] for request in kafka.requests()] == [
        "answered",
        "NOT_CONTROLLER",
        "answered",
        "not answered",
        "answered",
    ]


def test_what_is_kept_is_bounded(kafka: Broker) -> None:
    """In number, and in bytes of records; an exact number can't be asserted then, unless since a later mark."""
    recorder = kafka.look(lambda broker: _small(broker.recorder))
    with Client(kafka.bootstrap_servers) as client:
        for _ in range(3):
            client.ask(MetadataRequest([]), 4)
    assert len(kafka.requests()) == 2
    kafka.assert_received("Metadata", at_least=2)
    with pytest.raises(RuntimeError, match="so many requests have come that the first are not kept"):
        kafka.assert_received("Metadata", exactly=2)
    kafka.assert_received("Metadata", exactly=0, since=kafka.mark())
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for _ in range(3):
        producer.produce("orders", b"x" * 1_000)
        producer.flush()
    assert [request.api for request in kafka.requests()][-1] == "Produce"
    assert len(kafka.requests()) == 1
    assert isinstance(recorder, RequestRecorder)


def test_what_is_answered_when_it_is_not_kept_any_more_counts_for_nothing() -> None:
    """A fetch may wait for longer than it is kept; else each of them would leave less room for the others."""
    stream = Stream(lambda: 0, lambda: 0)
    recorder = RequestRecorder(stream, record_bytes_max=500)
    for _ in range(10):
        waiting = recorder.take(_call(FetchRequest()))
        stream.tell(Kind.BROKER_RESET)
        recorder.answered(waiting, _fetched(100))
    for _ in range(4):
        recorder.answered(recorder.take(_call(FetchRequest())), _fetched(100))
    assert len(recorder.requests()) == 4
    pushed_out = recorder.requests()[0]
    for _ in range(4):
        recorder.answered(recorder.take(_call(FetchRequest())), _fetched(100))
    assert len(recorder.requests()) == 5
    for _ in range(10):
        recorder.answered(pushed_out, _fetched(0))
    recorder.answered(recorder.take(_call(FetchRequest())), _fetched(100))
    assert len(recorder.requests()) == 5


def _call(request: Message) -> Any:
    connection: Any = SimpleNamespace(node=SimpleNamespace(node_id=1), client_host="/127.0.0.1")
    return Call(connection, Route(1, 11), 1, "ana", request)


def _fetched(record_bytes: int) -> FetchResponse:
    partition = FetchResponse.PartitionData(0, records=b"x" * record_bytes)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse("orders", partitions=[partition])])


def _small(recorder: RequestRecorder | None) -> RequestRecorder:
    assert recorder is not None
    recorder._kept_max, recorder._record_bytes_max = 2, 500
    return recorder

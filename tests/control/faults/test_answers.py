"""Answers that differ from what is so: who gets the error, in which form, and who is served all the same."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.network.apis import SERVED
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.registry import Api, api
from tests.control.faults.scene import (
    commit,
    committed,
    create,
    fault,
    fetch_request,
    fetched,
    find,
    heartbeat,
    metadata_request,
    produce,
    produce_request,
)
from tests.support.client import Client
from tests.support.running_broker import RunningBroker

REFUSED = ErrorCode.NOT_ENOUGH_REPLICAS
ERROR = "NOT_ENOUGH_REPLICAS"


@pytest.fixture
def leader(broker: RunningBroker) -> int:
    """The node that leads orders-0; both lead, so requests to either are about what it leads."""
    return broker.look(lambda: broker.server.cluster.topics["orders"].placements[0].leader_id)


@pytest.fixture
def alone() -> RunningBroker:
    """A broker of one node, which leads everything."""
    return RunningBroker()


def test_only_the_partition_aimed_at_gets_the_error(alone: RunningBroker) -> None:
    """The others of the same request are appended to; and after it this one is, too."""
    with alone as broker, Client(broker.bootstrap) as client:
        create(client, "orders", "payments")
        fault(broker, api="Produce", topic="orders", partition=1, answer=ERROR, once=True)
        places = (("orders", 0), ("orders", 1), ("payments", 1))
        assert produce(client, *places) == {
            ("orders", 0): (0, 0),
            ("orders", 1): (REFUSED, -1),
            ("payments", 1): (0, 0),
        }
        assert produce(client, *places) == {("orders", 0): (0, 1), ("orders", 1): (0, 0), ("payments", 1): (0, 1)}


def test_topic_that_is_named_by_its_id_is_aimed_at_by_its_name(alone: RunningBroker) -> None:
    """Produce v13 has no names."""
    with alone as broker, Client(broker.bootstrap) as client:
        create(client, "orders", "payments")
        ids = {name: topic.topic_id for name, topic in broker.server.cluster.topics.items()}
        fault(broker, api="Produce", topic="pay*", answer=ERROR)
        request = produce_request(("orders", 0), ("payments", 0))
        for topic in request.topic_data:
            topic.topic_id = ids[topic.name]
        told = {topic.topic_id: topic.partition_responses[0].error_code for topic in client.ask(request, 13).responses}
        assert told == {ids["orders"]: 0, ids["payments"]: REFUSED}


def test_request_as_a_whole_has_the_form_of_its_version(broker: RunningBroker, client: Client) -> None:
    """Nothing of it is done, and the group never hears of it."""
    fault(broker, api="Heartbeat", group="g", answer="rebalance_in_progress", times=2)
    for version in (0, 4):
        assert client.ask(heartbeat(), version).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert client.ask(heartbeat(), 4).error_code != ErrorCode.REBALANCE_IN_PROGRESS


def test_committed_offsets_of_the_partition_aimed_at_are_refused(alone: RunningBroker) -> None:
    with alone as broker, Client(broker.bootstrap) as client:
        create(client, "orders")
        find(client)
        fault(broker, api="OffsetCommit", group="g", partition=1, answer="COORDINATOR_LOAD_IN_PROGRESS", once=True)
        assert commit(client, "g", "orders", {0: 5, 1: 6}) == {0: 0, 1: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        assert [committed(client, "g", "orders", index) for index in (0, 1)] == [5, -1]


def test_topics_without_partitions_are_divided_too(broker: RunningBroker, client: Client) -> None:
    """One of two is deleted."""
    create(client, "first", "second")
    fault(broker, api="DeleteTopics", topic="first", answer="NOT_CONTROLLER", once=True)
    for version in (5, 6):
        listed = [DeleteTopicsRequest.DeleteTopicState(name) for name in ("first", "second")]
        request = DeleteTopicsRequest(listed if version == 6 else [], ["first", "second"], 1000)
        told = {answer.name: answer.error_code for answer in client.ask(request, version).responses}
        if version == 5:
            assert told == {"first": ErrorCode.NOT_CONTROLLER, "second": 0}
        else:
            assert told == {"first": 0, "second": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_offsets_of_one_partition_are_refused(broker: RunningBroker, client: Client) -> None:
    """Of two in one ListOffsets, at whichever node they are."""
    fault(broker, api="ListOffsets", topic="orders", partition=0, answer="LEADER_NOT_AVAILABLE")
    partitions = [ListOffsetsRequest.ListOffsetsPartition(index, -1, -1) for index in (0, 1)]
    answer = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic("orders", partitions)]), 5)
    told = {told.partition_index: told.error_code for told in answer.topics[0].partitions}
    assert told[0] == ErrorCode.LEADER_NOT_AVAILABLE != told[1]


def test_fetch_of_a_refused_partition_is_answered_at_once_with_what_others_have(alone: RunningBroker) -> None:
    """As Kafka does when a partition can't be read: no waiting for bytes."""
    with alone as broker, Client(broker.bootstrap) as client:
        create(client, "orders", "payments")
        produce(client, ("payments", 0))
        fault(broker, api="Fetch", topic="orders", answer="NOT_LEADER_OR_FOLLOWER")
        request = fetch_request(("orders", 0), ("orders", 1), ("payments", 0), max_wait_ms=600_000)
        wrong = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert fetched(client.ask(request, 11)) == {
            ("orders", 0): (wrong, False),
            ("orders", 1): (wrong, False),
            ("payments", 0): (0, True),
        }


def test_fetch_session_remembers_partitions_that_are_aimed_at(alone: RunningBroker) -> None:
    """A request that names nothing is about all that its session is about; and the session goes on."""
    with alone as broker, Client(broker.bootstrap) as client:
        create(client, "orders", "payments")
        first = client.ask(fetch_request(("orders", 0), ("payments", 0), session_epoch=0), 11)
        fault(broker, api="Fetch", topic="orders", answer="NOT_LEADER_OR_FOLLOWER", once=True)
        goes_on = [fetch_request(session_id=first.session_id, session_epoch=epoch) for epoch in (1, 2)]
        assert fetched(client.ask(goes_on[0], 11)) == {("orders", 0): (ErrorCode.NOT_LEADER_OR_FOLLOWER, False)}
        answer = client.ask(goes_on[1], 11)
        assert (answer.error_code, fetched(answer)) == (0, {})


def test_fetch_session_can_be_lost(broker: RunningBroker, client: Client) -> None:
    """What can only be said of the request as a whole is."""
    fault(broker, api="Fetch", answer="FETCH_SESSION_ID_NOT_FOUND")
    answer = client.ask(fetch_request(("orders", 0), session_id=7, session_epoch=1), 11)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_metadata_keep_their_brokers(broker: RunningBroker, client: Client) -> None:
    """The topic has the error, or one of its partitions; other topics have not, be they asked for by name or not."""
    fault(broker, api="Metadata", topic="orders", answer="LEADER_NOT_AVAILABLE", times=2)
    for request in (metadata_request("orders", "payments"), metadata_request()):
        request.topics = request.topics or None
        answer = client.ask(request, 5)
        told = {topic.name: topic.error_code for topic in answer.topics if not topic.is_internal}
        assert told == {"orders": ErrorCode.LEADER_NOT_AVAILABLE, "payments": 0}
        assert len(answer.brokers) == 2
    fault(broker, api="Metadata", topic="orders", partition=1, answer="LEADER_NOT_AVAILABLE", once=True)
    (topic,) = client.ask(metadata_request("orders"), 5).topics
    told = {told.partition_index: (told.error_code, told.leader_id < 0) for told in topic.partitions}
    assert told == {0: (0, False), 1: (ErrorCode.LEADER_NOT_AVAILABLE, True)}


def test_whole_request_is_refused_if_that_is_said(broker: RunningBroker, client: Client) -> None:
    fault(broker, api="Metadata", topic="orders", answer={"error": "NOT_CONTROLLER", "whole": True})
    answer = client.ask(metadata_request("orders", "payments"), 5)
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.NOT_CONTROLLER] * 2
    assert answer.brokers == []


def test_throttle_time_is_claimed(broker: RunningBroker, client: Client) -> None:
    """In versions that have it; v0 of Heartbeat has not."""
    fault(broker, throttle=1234)
    assert client.ask(heartbeat(), 1).throttle_time_ms == 1234
    assert client.ask(heartbeat(), 0).throttle_time_ms == 0
    assert client.ask(metadata_request("orders"), 5).throttle_time_ms == 1234


def test_metadata_name_another_leader(broker: RunningBroker, client: Client, leader: int) -> None:
    """Of the partition aimed at; the others stand as they are."""
    before = {
        told.partition_index: told.leader_id for told in client.ask(metadata_request("orders"), 5).topics[0].partitions
    }
    fault(broker, topic="orders", partition=0, stale_leader=True)
    after = {
        told.partition_index: told.leader_id for told in client.ask(metadata_request("orders"), 5).topics[0].partitions
    }
    assert (after[0], after[1]) == (3 - leader, before[1])


@pytest.mark.parametrize("version", [1, 4])
def test_another_coordinator_is_named(broker: RunningBroker, client: Client, version: int) -> None:
    """With the address of that node; who goes there is told that it is not."""
    asked = FindCoordinatorRequest("g", 0, ["g"])

    def named() -> tuple[int, int]:
        answer = client.ask(asked, version)
        found = answer.coordinators[0] if version >= 4 else answer
        return found.node_id, found.port

    true_id, true_port = named()
    fault(broker, group="g", stale_coordinator=True)
    node_id, port = named()
    assert node_id == 3 - true_id
    assert port != true_port
    with Client(f"127.0.0.1:{port}") as other:
        assert other.ask(heartbeat(), 0).error_code == ErrorCode.NOT_COORDINATOR


def test_answer_is_changed_by_a_function(broker: RunningBroker, client: Client) -> None:
    """Which may change the copy that it gets, or return another message."""

    def rename(answer: object) -> None:
        answer.cluster_id = "elsewhere"  # type: ignore[attr-defined]

    fault(broker, api="Metadata", change=rename, once=True)
    assert client.ask(metadata_request("orders"), 5).cluster_id == "elsewhere"
    assert client.ask(metadata_request("orders"), 5).cluster_id == broker.server.cluster.cluster_id


def test_what_a_function_changes_deep_in_an_answer_is_in_no_other(broker: RunningBroker, client: Client) -> None:
    """Answers that are given again and again stay what they are, to whomever and in whatever version."""

    def spoil(answer: Any) -> None:
        for version in answer.api_keys:
            version.max_version = -1

    asked = ApiVersionsRequest(client_software_name="ana", client_software_version="1")
    fault(broker, api="ApiVersions", change=spoil, once=True)
    assert {told.max_version for told in client.ask(asked, 3).api_keys} == {-1}
    for version in (3, 4):
        assert {told.api_key: told.max_version for told in client.ask(asked, version).api_keys} == {
            served.key: served.version_last for served in SERVED.values()
        }


def test_function_that_raises_leaves_the_answer_as_it_is(broker: RunningBroker, client: Client) -> None:
    """And the fault knows."""
    changing = fault(broker, api="Metadata", change=lambda answer: answer.nothing)
    assert client.ask(metadata_request("orders"), 5).topics[0].error_code == ErrorCode.NONE
    assert "its function raised AttributeError" in changing.seen_instead()


@pytest.mark.parametrize("late", [{}, {"delay": 5}], ids=["at once", "late"])
def test_request_without_an_answer_is_refused_by_the_end_of_its_connection(
    broker: RunningBroker, client: Client, late: dict[str, int]
) -> None:
    """Produce with acks=0, as Kafka does."""
    refused = fault(broker, api="Produce", **late, answer=ERROR)
    client.send(produce_request(("orders", 0), acks=0), 7, answered=False)
    broker.wait_until("it has come", lambda: refused.hit_count)
    broker.advance(5)
    assert client.connection.receive_rest() == (b"", False)
    assert broker.log.named("request.failed") == []


@pytest.mark.parametrize("api", [api(key) for key in SERVED], ids=lambda one: one.name)
def test_every_version_of_every_api_can_be_refused(broker: RunningBroker, api: Api) -> None:
    """In a form that its clients can read."""
    refused = fault(broker, api=api.name, answer="COORDINATOR_LOAD_IN_PROGRESS")
    served = SERVED[api.key]
    for version in range(served.version_first_served, served.version_last + 1):
        request = api.request()
        if isinstance(request, ProduceRequest):
            request.acks = -1
        with Client(broker.bootstrap) as client:
            client.send(request, version)
            assert client.receive().canonical
    assert refused.hit_count == served.version_last + 1 - served.version_first_served


def test_what_is_answered_again_and_again_stays_as_it_is(broker: RunningBroker, client: Client) -> None:
    """Heartbeats get one and the same answer, which must not keep what a fault has made of it."""
    (before,) = (client.ask(heartbeat(), 4),)
    fault(broker, api="Heartbeat", throttle=50, once=True)
    assert [client.ask(heartbeat(), 4).throttle_time_ms for _ in range(2)] == [50, before.throttle_time_ms]

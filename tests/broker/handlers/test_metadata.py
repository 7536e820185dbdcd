"""Metadata: nodes, topics by name and by id, and creation on the way."""

from __future__ import annotations

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata import MetadataRequest
from ottla.protocol.primitives import ZERO_UUID
from tests.broker.scene import Scene

Topic = MetadataRequest.MetadataRequestTopic


def by_name(*names: str, create: bool = True) -> MetadataRequest:
    return MetadataRequest(topics=[Topic(name=name) for name in names], allow_auto_topic_creation=create)


def test_nodes_are_named_with_the_address_clients_reach_them_at() -> None:
    """All of them, and the lowest as controller."""
    answer = Scene(nodes=3, settings={"broker.rack": "here"}).ask(MetadataRequest(topics=[]), 12)
    assert [(b.node_id, b.host, b.port, b.rack) for b in answer.brokers] == [
        (1, "127.0.0.1", 9092, "here"),
        (2, "127.0.0.1", 9093, "here"),
        (3, "127.0.0.1", 9094, "here"),
    ]
    assert answer.controller_id == 1
    assert answer.topics == []


def test_topic_comes_with_its_leaders_replicas_and_id() -> None:
    scene = Scene(nodes=2)
    topic = scene.create("orders", 2, replicas=2)
    found = scene.ask(by_name("orders"), 12).topics[0]
    assert (found.error_code, found.name, found.topic_id, found.is_internal) == (0, "orders", topic.topic_id, False)
    first, second = found.partitions
    assert (first.partition_index, first.leader_id, first.leader_epoch) == (0, 1, 0)
    assert first.replica_nodes == first.isr_nodes == [1, 2]
    assert (second.partition_index, second.leader_id, second.leader_epoch) == (1, 2, 0)
    assert second.replica_nodes == second.isr_nodes == [2, 1]
    assert first.offline_replicas == second.offline_replicas == []


@pytest.mark.parametrize("version", range(14))
def test_all_topics_are_asked_for_by_null_and_in_v0_by_an_empty_list(version: int) -> None:
    """From v1 on an empty list asks for none."""
    scene = Scene()
    scene.create("a")
    scene.create("b")
    everything = MetadataRequest(topics=[])
    everything.topics = None if version else []
    assert {topic.name for topic in scene.ask(everything, version).topics} == {"a", "b"}
    if version:
        assert scene.ask(MetadataRequest(topics=[]), version).topics == []


@pytest.mark.parametrize("version", range(14))
def test_unknown_topic_is_created_on_the_way_and_there_the_next_time(version: int) -> None:
    """This very answer still has UNKNOWN_TOPIC_OR_PARTITION, as Kafka's has; with the broker's defaults."""
    scene = Scene(settings={"num.partitions": "3"})
    first = scene.ask(by_name("new"), version).topics[0]
    assert (first.error_code, first.name, first.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "new", [])
    second = scene.ask(by_name("new"), version).topics[0]
    assert (second.error_code, len(second.partitions)) == (ErrorCode.NONE, 3)


def test_unknown_topic_is_not_created_where_client_or_broker_does_not_want_it() -> None:
    scene = Scene()
    assert scene.ask(by_name("new", create=False), 4).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert scene.cluster.topics == {}
    closed = Scene(settings={"auto.create.topics.enable": "false"})
    assert closed.ask(by_name("new"), 4).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert closed.cluster.topics == {}


def test_topic_that_can_not_be_created_is_unknown_each_time() -> None:
    """Its name collides; the refusal is logged."""
    scene = Scene()
    scene.create("a.b")
    for _ in range(2):
        assert scene.ask(by_name("a_b"), 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(scene.log.named("topic.autocreation.refused")) == 2


def test_offsets_topic_asked_for_is_created_as_such_and_marked_internal() -> None:
    """Also in the answer that does not have it yet."""
    scene = Scene()
    first = scene.ask(by_name(GROUP_TOPIC), 12).topics[0]
    assert (first.error_code, first.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)
    second = scene.ask(by_name(GROUP_TOPIC), 12).topics[0]
    assert (len(second.partitions), second.is_internal) == (50, True)


@pytest.mark.parametrize("name", ["", ".", "a b", "ä", "x" * 250])
def test_bad_name_is_refused_and_nothing_created(name: str) -> None:
    scene = Scene()
    answer = scene.ask(by_name(name, "fine"), 12)
    assert [topic.error_code for topic in answer.topics] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert list(scene.cluster.topics) == ["fine"]


def test_name_listed_twice_is_answered_once() -> None:
    scene = Scene()
    scene.create("a")
    assert [topic.name for topic in scene.ask(by_name("a", "a"), 12).topics] == ["a"]


@pytest.mark.parametrize("version", [12, 13])
def test_one_id_makes_it_a_request_by_ids(version: int) -> None:
    """Names count no more; an unknown id is echoed, without a name."""
    scene = Scene()
    topic = scene.create("a")
    unknown = b"\7" * 16
    wanted = [Topic(topic_id, None) for topic_id in (topic.topic_id, unknown, topic.topic_id)]
    request = MetadataRequest([*wanted, Topic(ZERO_UUID, "new")])
    answer = scene.ask(request, version)
    assert [(t.error_code, t.name, t.topic_id) for t in answer.topics] == [
        (ErrorCode.NONE, "a", topic.topic_id),
        (ErrorCode.UNKNOWN_TOPIC_ID, None, unknown),
    ]
    assert list(scene.cluster.topics) == ["a"]


@pytest.mark.parametrize("version", [10, 11])
def test_ids_before_their_time_are_refused_on_every_topic(version: int) -> None:
    """And so are null names; the answer has neither nodes nor cluster."""
    scene = Scene()
    topic = scene.create("a")
    for odd in (Topic(topic.topic_id, "a"), Topic(ZERO_UUID, None)):
        answer = scene.ask(MetadataRequest(topics=[odd, Topic(name="b")]), version)
        assert [t.error_code for t in answer.topics] == [ErrorCode.INVALID_REQUEST] * 2
        assert (answer.brokers, answer.cluster_id, answer.controller_id) == ([], None, -1)


@pytest.mark.parametrize("version", [12, 13])
def test_null_name_without_any_id_is_what_kafka_stumbles_on(version: int) -> None:
    answer = Scene().ask(MetadataRequest(topics=[Topic(ZERO_UUID, None), Topic(name="b")]), version)
    assert [t.error_code for t in answer.topics] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert answer.error_code == (ErrorCode.UNKNOWN_SERVER_ERROR if version == 13 else 0)


def test_authorized_operations_are_told_to_who_asks() -> None:
    """Everything a topic or the cluster knows, in Kafka's bits; else the lowest number there is."""
    scene = Scene()
    scene.create("a")
    request = by_name("a", "b", create=False)
    plain = scene.ask(request, 8)
    assert plain.topics[0].topic_authorized_operations == plain.cluster_authorized_operations == -(2**31)
    request.include_topic_authorized_operations = request.include_cluster_authorized_operations = True
    asked = scene.ask(request, 8)
    assert [topic.topic_authorized_operations for topic in asked.topics] == [3576, 3576]
    assert asked.cluster_authorized_operations == 8096

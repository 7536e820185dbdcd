"""Metadata: nodes, topics by name and by id, and creation on the way."""

from __future__ import annotations

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.metadata import MetadataRequest
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

"""CreateTopics: what is checked, in which order, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics import CreateTopicsRequest
from ottla.protocol.primitives import ZERO_UUID
from tests.broker.scene import Scene

Topic = CreateTopicsRequest.CreatableTopic


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    *,
    assigned: Sequence[tuple[int, list[int]]] = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> CreateTopicsRequest.CreatableTopic:
    return Topic(
        name,
        partitions,
        replicas,
        [CreateTopicsRequest.CreatableReplicaAssignment(index, node_ids) for index, node_ids in assigned],
        [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in configs],
    )


def create(*topics: Any, timeout_ms: int = 1000, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(list(topics), timeout_ms, validate_only)


def assigned(name: str, *rows: tuple[int, list[int]], partitions: int = -1, replicas: int = -1) -> Any:
    return topic(name, partitions, replicas, assigned=rows)


@pytest.mark.parametrize("version", range(2, 8))
def test_topic_is_made_and_described(version: int) -> None:
    """From v5 on with its numbers and configs, from v7 on with its id; success has no message."""
    scene = Scene()
    result = scene.ask(create(topic("a", 3, configs=[("retention.ms", " 5 ")])), version).topics[0]
    made = scene.cluster.topics["a"]
    assert (result.error_code, result.error_message) == (0, None)
    assert (len(made.partitions), made.configs) == (3, {"retention.ms": " 5 "})
    assert result.topic_id == (made.topic_id if version >= 7 else ZERO_UUID)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor, len(result.configs)) == (3, 1, 37)
        shown = {config.name: (config.value, config.config_source, config.read_only) for config in result.configs}
        assert list(shown) == sorted(shown)
        assert shown["retention.ms"] == (" 5 ", 1, False)
        assert shown["max.message.bytes"] == ("1048588", 5, False)


@pytest.mark.parametrize("version", range(2, 8))
def test_minus_one_leaves_partitions_and_replicas_to_the_broker(version: int) -> None:
    scene = Scene(nodes=2, settings={"num.partitions": "4", "default.replication.factor": "2"})
    assert scene.ask(create(topic("a", -1, -1)), version).topics[0].error_code == 0
    assert [len(placement.replicas) for placement in scene.cluster.topics["a"].placements] == [2] * 4


@pytest.mark.parametrize(
    ("wanted", "error_code", "message"),
    [
        (topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
        (topic("x.y"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'x.y' already exists."),
        (topic("x_y"), ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic 'x_y' collides with existing topic: x.y"),
        (topic("bad name"), ErrorCode.INVALID_TOPIC_EXCEPTION, None),
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, None),
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST, None),
        (topic("a", configs=[("no.such", "1")]), ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such"),
        (topic("a", configs=[("retention.ms", "abc")]), ErrorCode.INVALID_CONFIG, None),
        (topic("a", configs=[("segment.bytes", "1000")]), ErrorCode.INVALID_CONFIG, None),
        (
            topic("a", configs=[("retention.ms", None), ("flush.ms", None)]),
            ErrorCode.INVALID_CONFIG,
            "Null value not supported for topic configs: retention.ms,flush.ms",
        ),
        (topic("a", 1, 3), ErrorCode.INVALID_REPLICATION_FACTOR, None),
        (topic("a", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, None),
        (topic("a", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR, None),
        (topic("a", 0, 1), ErrorCode.INVALID_PARTITIONS, None),
        (topic("a", -2, 1), ErrorCode.INVALID_PARTITIONS, None),
        (assigned("a", (0, [1]), partitions=1), ErrorCode.INVALID_REQUEST, None),
        (assigned("a", (0, [1]), replicas=1), ErrorCode.INVALID_REQUEST, None),
        (assigned("a", (0, [9])), ErrorCode.INVALID_REPLICA_ASSIGNMENT, None),
        (assigned("a", (0, [1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT, None),
        (assigned("a", (0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT, None),
        (assigned("a", (0, [1]), (1, [1, 2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT, None),
        (assigned("a", (0, [1]), (2, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT, None),
        (assigned("a", (0, [1]), (0, [2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT, None),
        # Two faults: the one that Kafka looks for first is told.
        (topic("there", 0, 0, configs=[("no.such", "1")]), ErrorCode.TOPIC_ALREADY_EXISTS, None),
        (topic("bad name", 0, 0, configs=[("no.such", "1")]), ErrorCode.INVALID_TOPIC_EXCEPTION, None),
        (topic("a", 0, 0, configs=[("no.such", "1")]), ErrorCode.INVALID_CONFIG, None),
        (topic("a", 0, 0), ErrorCode.INVALID_REPLICATION_FACTOR, None),
        (topic("a", 0, 3), ErrorCode.INVALID_PARTITIONS, None),
        (assigned("a", (0, [9]), partitions=1), ErrorCode.INVALID_REQUEST, None),
    ],
)
def test_topic_that_can_not_be_is_refused(wanted: Any, error_code: ErrorCode, message: str | None) -> None:
    """With a text, and without keeping another from being made, nor being made itself."""
    scene = Scene(nodes=2)
    scene.create("there")
    scene.create("x.y")
    bad, good = scene.ask(create(wanted, topic("good")), 7).topics
    if bad.name == "good":  # some refusals are answered last, as in Kafka
        bad, good = good, bad
    assert (bad.error_code, bad.topic_id, bad.num_partitions, bad.configs) == (error_code, ZERO_UUID, -1, [])
    assert bad.error_message == message if message is not None else bad.error_message
    assert good.error_code == 0
    assert sorted(scene.cluster.topics) == ["good", "there", "x.y"]


def test_replicas_can_be_assigned_by_the_client() -> None:
    """In any order of partitions; the first of each leads."""
    scene = Scene(nodes=2)
    result = scene.ask(create(assigned("a", (1, [2, 1]), (0, [1, 2]))), 7).topics[0]
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 2, 2)
    assert [placement.replicas for placement in scene.cluster.topics["a"].placements] == [[1, 2], [2, 1]]
    assert [placement.leader_id for placement in scene.cluster.topics["a"].placements] == [1, 2]


def test_name_listed_twice_has_one_answer_and_no_topic() -> None:
    scene = Scene()
    results = scene.ask(create(topic("a"), topic("b"), topic("a"), topic("a")), 7).topics
    assert [(r.name, r.error_code, r.error_message) for r in results] == [
        ("b", 0, None),
        ("a", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert list(scene.cluster.topics) == ["b"]


def test_two_new_topics_may_collide_with_each_other() -> None:
    """Kafka holds new names against old ones only."""
    scene = Scene()
    assert [r.error_code for r in scene.ask(create(topic("a.b"), topic("a_b")), 7).topics] == [0, 0]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_no_time_is_a_timeout_for_every_entry(timeout_ms: int) -> None:
    """Names listed twice included; without a message."""
    scene = Scene()
    results = scene.ask(create(topic("a"), topic("b"), topic("b"), timeout_ms=timeout_ms), 7).topics
    assert [(r.name, r.error_code, r.error_message) for r in results] == [
        ("a", ErrorCode.REQUEST_TIMED_OUT, None),
        ("b", ErrorCode.REQUEST_TIMED_OUT, None),
        ("b", ErrorCode.REQUEST_TIMED_OUT, None),
    ]
    assert scene.cluster.topics == {}


@pytest.mark.parametrize("names", [(), ("b", "b"), ("__cluster_metadata",)])
def test_nothing_to_do_needs_no_time(names: tuple[str, ...]) -> None:
    results = Scene().ask(create(*map(topic, names), timeout_ms=0), 7).topics
    assert [r.error_code for r in results] == [ErrorCode.INVALID_REQUEST] * len(set(names))


def test_more_than_ten_thousand_partitions_at_once_are_too_many() -> None:
    """For all topics of the request; defaults and assigned ones count, nonsense does not."""
    scene = Scene(settings={"num.partitions": "2"})
    fits = create(topic("a", 9_997), topic("b", -1), assigned("c", (0, [1])), topic("d", -5), validate_only=True)
    assert [r.error_code for r in scene.ask(fits, 7).topics] == [0, 0, 0, ErrorCode.INVALID_PARTITIONS]
    results = scene.ask(create(topic("a", 9_998), topic("b", -1), topic("c", 1)), 7).topics
    assert [r.error_code for r in results] == [ErrorCode.POLICY_VIOLATION] * 3
    assert all(r.error_message for r in results)
    assert scene.cluster.topics == {}


def test_validate_only_answers_the_same_and_makes_nothing() -> None:
    """Not even a place in the order of nodes is taken."""
    scene = Scene(nodes=2)
    result = scene.ask(create(topic("a", 3), validate_only=True), 7).topics[0]
    assert (result.error_code, result.num_partitions, len(result.configs)) == (0, 3, 37)
    assert result.topic_id != ZERO_UUID
    assert scene.ask(create(topic("a", 0), validate_only=True), 7).topics[0].error_code == ErrorCode.INVALID_PARTITIONS
    assert scene.cluster.topics == {}
    assert scene.create("b").placements[0].leader_id == 1


def test_last_of_a_config_given_twice_counts() -> None:
    scene = Scene()
    scene.ask(create(topic("a", configs=[("retention.ms", "1"), ("retention.ms", "2")])), 7)
    assert scene.cluster.topics["a"].configs == {"retention.ms": "2"}


def test_new_logs_go_by_the_topics_configs() -> None:
    """From their first append on."""
    made = Scene().create("a", message_timestamp_type="LogAppendTime", max_message_bytes="77", cleanup_policy="")
    config = made.partitions[0].config
    assert config.rules.max_message_bytes == 77
    assert (config.compact, config.delete) == (False, False)

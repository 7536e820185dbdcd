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
def test_minus_one_leaves_partitions_and_replicas_to_the_broker(version: int) -> None:
    scene = Scene(nodes=2, settings={"num.partitions": "4", "default.replication.factor": "2"})
    assert scene.ask(create(topic("a", -1, -1)), version).topics[0].error_code == 0
    assert [len(placement.replicas) for placement in scene.cluster.topics["a"].placements] == [2] * 4


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


def test_new_logs_go_by_the_topics_configs() -> None:
    """From their first append on."""
    made = Scene().create("a", message_timestamp_type="LogAppendTime", max_message_bytes="77", cleanup_policy="")
    config = made.partitions[0].config
    assert config.rules.max_message_bytes == 77
    assert (config.compact, config.delete) == (False, False)

"""CreatePartitions: topics grow and never shrink."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest
from tests.broker.scene import Scene


def grow(
    *topics: tuple[str, int] | tuple[str, int, list[list[int]]], timeout_ms: int = 1000, validate_only: bool = False
) -> CreatePartitionsRequest:
    """(name, count) or (name, count, replicas of each new partition)."""
    return CreatePartitionsRequest(
        [
            CreatePartitionsRequest.CreatePartitionsTopic(
                name,
                count,
                None
                if not assigned
                else [CreatePartitionsRequest.CreatePartitionsAssignment(ids) for ids in assigned[0]],
            )
            for name, count, *assigned in topics
        ],
        timeout_ms,
        validate_only,
    )


@pytest.mark.parametrize("version", range(4))
def test_topic_grows_to_the_number_asked_for_and_not_twice(version: int) -> None:
    """The old partitions stay as they are."""
    scene = Scene(nodes=2)
    topic = scene.create("a", 2, replicas=2)
    old = list(topic.partitions)
    result = scene.ask(grow(("a", 4)), version).results[0]
    assert (result.name, result.error_code, result.error_message) == ("a", 0, None)
    assert topic.partitions[:2] == old
    assert [partition.index for partition in topic.partitions] == [0, 1, 2, 3]
    assert [len(placement.replicas) for placement in topic.placements] == [2, 2, 2, 2]
    again = scene.ask(grow(("a", 4)), version).results[0]
    assert (again.error_code, again.error_message) == (
        ErrorCode.INVALID_PARTITIONS,
        "Topic already has 4 partition(s).",
    )


@pytest.mark.parametrize("count", [1, 0, -1])
def test_topic_does_not_shrink(count: int) -> None:
    scene = Scene()
    scene.create("a", 2)
    result = scene.ask(grow(("a", count)), 3).results[0]
    assert (result.error_code, result.error_message) == (
        ErrorCode.INVALID_PARTITIONS,
        f"The topic a currently has 2 partition(s); {count} would not be an increase.",
    )


@pytest.mark.parametrize("assigned", [[], [[1]], [[1], [1], [1]], [[1], [9]], [[1], []], [[1], [2, 2]], [[1], [1, 2]]])
def test_assignment_must_be_one_per_new_partition_and_like_the_old_ones(assigned: list[list[int]]) -> None:
    scene = Scene(nodes=2)
    topic = scene.create("a")
    result = scene.ask(grow(("a", 3, assigned)), 3).results[0]
    assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert result.error_message
    assert len(topic.partitions) == 1


def test_replicas_can_be_assigned_by_the_client() -> None:
    scene = Scene(nodes=2)
    topic = scene.create("a")
    assert scene.ask(grow(("a", 3, [[2], [2]])), 3).results[0].error_code == 0
    assert [placement.leader_id for placement in topic.placements] == [1, 2, 2]

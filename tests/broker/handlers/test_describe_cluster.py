"""DescribeCluster, DescribeTopicPartitions and DescribeLogDirs: what there is, and how large."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from ottla.protocol.primitives import ZERO_UUID
from tests.broker.scene import Scene
from tests.log.partitions import produce
from tests.support.batches import batch

BROKER, CONTROLLER = 1, 2


@pytest.mark.parametrize("version", range(3))
def test_cluster_names_its_nodes(version: int) -> None:
    scene = Scene(nodes=2)
    answer = scene.ask(DescribeClusterRequest(), version)
    assert (answer.error_code, answer.error_message, answer.endpoint_type) == (0, None, BROKER)
    assert (answer.cluster_id, answer.controller_id) == (scene.cluster.cluster_id, 1)
    assert [(b.broker_id, b.host, b.port, b.rack, b.is_fenced) for b in answer.brokers] == [
        (1, "127.0.0.1", 9092, None, False),
        (2, "127.0.0.1", 9093, None, False),
    ]
    assert answer.cluster_authorized_operations == -(2**31)
    asked = scene.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert asked.cluster_authorized_operations == 8096


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("endpoint_type", "error_code"),
    [
        (CONTROLLER, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_who_looks_for_something_else_than_a_broker_is_told_so(
    version: int, endpoint_type: int, error_code: ErrorCode
) -> None:
    answer = Scene().ask(DescribeClusterRequest(endpoint_type=endpoint_type), version)
    assert (answer.error_code, answer.cluster_id, answer.controller_id, answer.brokers) == (error_code, "", -1, [])
    assert answer.error_message


def partitions_of(
    *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        [DescribeTopicPartitionsRequest.TopicRequest(name) for name in names],
        limit,
        None if cursor is None else DescribeTopicPartitionsRequest.Cursor(*cursor),
    )


def page(scene: Scene, request: DescribeTopicPartitionsRequest) -> tuple[list[Any], Any]:
    """([(topic, partitions)], cursor) of one answer."""
    answer = scene.ask(request, 0)
    topics = [(topic.name, [p.partition_index for p in topic.partitions]) for topic in answer.topics]
    cursor = answer.next_cursor
    return topics, None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_topic_is_described_with_its_leaders() -> None:
    """Authorized operations come unasked; there are no eligible leaders besides the replicas in sync."""
    scene = Scene(nodes=2)
    topic = scene.create("a", replicas=2)
    answer = scene.ask(partitions_of("a"), 0)
    found = answer.topics[0]
    assert (found.error_code, found.topic_id, found.is_internal) == (0, topic.topic_id, False)
    assert found.topic_authorized_operations == 3576
    (partition,) = found.partitions
    assert (partition.leader_id, partition.leader_epoch) == (1, 0)
    assert partition.replica_nodes == partition.isr_nodes == [1, 2]
    assert partition.eligible_leader_replicas == partition.last_known_elr == partition.offline_replicas == []
    assert answer.next_cursor is None


def test_topics_come_sorted_each_once_unknown_ones_among_them() -> None:
    scene = Scene()
    scene.create("b")
    answer = scene.ask(partitions_of("c", "b", "a b", "b"), 0)
    assert [(t.name, t.error_code, t.topic_id == ZERO_UUID) for t in answer.topics] == [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, True),
        ("b", 0, False),
        ("c", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
    ]
    assert [t.topic_authorized_operations for t in answer.topics] == [3576] * 3


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("named", [True, False])
def test_paging_shows_every_partition_once_in_order(limit: int, named: bool) -> None:
    """Whether topics are named or all asked for, and however small the pages."""
    scene = Scene()
    for name, partitions in (("a", 3), ("b", 1), ("c", 4)):
        scene.create(name, partitions)
    names = ("c", "b", "a") if named else ()
    shown: list[tuple[str, int]] = []
    cursor = None
    for _ in range(8):
        topics, cursor = page(scene, partitions_of(*names, limit=limit, cursor=cursor))
        found = [(name, index) for name, indexes in topics for index in indexes]
        assert 1 <= len(found) <= limit
        shown += found
        if cursor is None:
            break
    assert cursor is None
    assert shown == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1), ("c", 2), ("c", 3)]


def test_page_is_never_larger_than_the_broker_allows_nor_smaller_than_one() -> None:
    scene = Scene(settings={"max.request.partition.size.limit": "2"})
    scene.create("a", 5)
    assert page(scene, partitions_of("a")) == ([("a", [0, 1])], ("a", 2))
    assert page(scene, partitions_of("a", limit=0)) == ([("a", [0])], ("a", 1))
    assert page(scene, partitions_of("a", limit=-7)) == ([("a", [0])], ("a", 1))


def test_full_page_points_at_the_next_topic_even_if_there_is_none_of_that_name() -> None:
    scene = Scene()
    scene.create("a", 2)
    assert page(scene, partitions_of("a", "b", limit=2)) == ([("a", [0, 1])], ("b", 0))


def test_cursor_beyond_the_topic_shows_it_without_partitions() -> None:
    scene = Scene()
    scene.create("a", 2)
    assert page(scene, partitions_of("a", cursor=("a", 9))) == ([("a", [])], None)
    assert page(scene, partitions_of(cursor=("b", 0))) == ([], None)


@pytest.mark.parametrize("cursor", [("c", 0), ("a", -1)])
def test_cursor_that_can_not_be_refuses_every_topic(cursor: tuple[str, int]) -> None:
    """One whose topic is not listed, or whose partition is negative."""
    scene = Scene()
    scene.create("a")
    answer = scene.ask(partitions_of("a", "b", cursor=cursor), 0)
    assert [(t.name, t.error_code) for t in answer.topics] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.INVALID_REQUEST),
    ]


def sizes(answer: Any) -> dict[str, dict[int, int]]:
    (directory,) = answer.results
    assert directory.error_code == 0
    return {t.name: {p.partition_index: p.partition_size for p in t.partitions} for t in directory.topics}


def dirs(**topics: list[int]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest([DescribeLogDirsRequest.DescribableLogDirTopic(*topic) for topic in topics.items()])


@pytest.mark.parametrize("version", range(1, 6))
def test_partitions_are_as_large_as_their_batches(version: int) -> None:
    """Null asks for all, an empty list for none; what is unknown is left out. The account of all logs is the disk."""
    scene = Scene(settings={"ottla.log.bytes.max": "1000"})
    topic = scene.create("a", 2)
    scene.create("b")
    records = batch()
    produce(topic.partitions[1], records)
    everything = scene.ask(DescribeLogDirsRequest(None), version)
    assert sizes(everything) == {"a": {0: 0, 1: len(records)}, "b": {0: 0}}
    assert sizes(scene.ask(dirs(a=[1, 7], absent=[0]), version)) == {"a": {1: len(records)}}
    assert sizes(scene.ask(dirs(), version)) == {}
    if version >= 4:
        assert (everything.results[0].total_bytes, everything.results[0].usable_bytes) == (1000, 1000 - len(records))


def test_node_shows_the_partitions_it_holds() -> None:
    scene = Scene(nodes=3)
    scene.create("a", 3, replicas=2)  # on 1 2, 2 3, 3 1
    assert sizes(scene.ask(DescribeLogDirsRequest(None), 5, node_id=2)) == {"a": {0: 0, 1: 0}}

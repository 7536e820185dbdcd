"""DescribeCluster, DescribeTopicPartitions and DescribeLogDirs: what there is, and how large."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.messages.describe_cluster import DescribeClusterRequest
from ottla.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from tests.broker.scene import Scene
from tests.log.partitions import produce
from tests.support.batches import batch

BROKER = 1


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

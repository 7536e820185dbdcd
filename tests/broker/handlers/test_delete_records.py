"""DeleteRecords: the log begins later, and everything that can be in the way of that."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from tests.broker.log_scene import LogScene, only, partitions_of
from tests.support.batches import batch

VERSIONS = range(3)


def request(topic: str, *offsets: int, timeout_ms: int = 1_000) -> DeleteRecordsRequest:
    """Each offset for the partition at its position."""
    listed = [DeleteRecordsRequest.DeleteRecordsPartition(index, offset) for index, offset in enumerate(offsets)]
    return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(topic, listed)], timeout_ms)


def told(partition: Any) -> tuple[int, int]:
    return partition.error_code, partition.low_watermark


@pytest.mark.parametrize("version", VERSIONS)
def test_start_of_the_log_moves_up_and_never_down(version: int) -> None:
    """One request after the other, as measured: 5, 3 after that, beyond the end, below -1, then everything."""
    scene = LogScene()
    scene.append(scene.create("orders"), *[batch()] * 8)
    out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE, -1
    for offset, answer in (
        (5, (0, 5)),
        (3, (0, 5)),
        (999, out_of_range),
        (-2, out_of_range),
        (-1, (0, 8)),
        (8, (0, 8)),
    ):
        assert told(only(scene.ask(request("orders", offset), version).topics)) == answer
    assert told(only(scene.ask(request("orders", 8, timeout_ms=0), version).topics)) == (0, 8)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        ("delete", (0, 1)),
        ("compact,delete", (0, 1)),
        ("", (0, 1)),
        ("compact", (ErrorCode.POLICY_VIOLATION, -1)),
    ],
)
def test_compacted_topics_keep_their_records(policy: str, answer: tuple[int, int], version: int) -> None:
    """Unless they delete by age as well."""
    scene = LogScene()
    scene.append(scene.create("orders", cleanup_policy=policy), batch())
    assert told(only(scene.ask(request("orders", 1), version).topics)) == answer


@pytest.mark.parametrize("version", VERSIONS)
def test_where_it_is_not_possible(version: int) -> None:
    """No such topic or partition; a topic of the broker's own; a node that doesn't lead, be it a replica or not."""
    scene = LogScene(nodes=3)
    topic = scene.create("orders", replicas=2)
    scene.create(GROUP_TOPIC)
    leader_id, follower_id = topic.placements[0].replicas
    (stranger_id,) = {1, 2, 3} - {leader_id, follower_id}
    for name, node_id, error in (
        ("absent", leader_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (GROUP_TOPIC, leader_id, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (GROUP_TOPIC, stranger_id, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("orders", follower_id, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("orders", stranger_id, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ):
        assert told(only(scene.ask(request(name, 0), version, node_id=node_id).topics)) == (error, -1)
    answer = scene.ask(request("orders", 0, 0), version, node_id=leader_id)
    assert [told(partition) for partition in partitions_of(answer.topics)] == [(0, 0), (3, -1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_partition_listed_twice(version: int) -> None:
    """The last offset counts, and there is one answer."""
    scene = LogScene()
    scene.append(scene.create("orders"), *[batch()] * 8)
    twice = request("orders", 7, 2)
    twice.topics[0].partitions[1].partition_index = 0
    twice.topics += request("orders", 3).topics + request("orders").topics + request("others").topics
    assert told(only(scene.ask(twice, version).topics)) == (0, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_as_a_whole(version: int) -> None:
    answer = LogScene().refuse(request("orders", 0, 0), version, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [told(partition) for partition in partitions_of(answer.topics)] == [(-1, -1)] * 2

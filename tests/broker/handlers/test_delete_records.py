"""DeleteRecords: the log begins later, and everything that can be in the way of that."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_records import DeleteRecordsRequest
from tests.broker.log_scene import LogScene, only, partitions_of

VERSIONS = range(3)


def request(topic: str, *offsets: int, timeout_ms: int = 1_000) -> DeleteRecordsRequest:
    """Each offset for the partition at its position."""
    listed = [DeleteRecordsRequest.DeleteRecordsPartition(index, offset) for index, offset in enumerate(offsets)]
    return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(topic, listed)], timeout_ms)


def told(partition: Any) -> tuple[int, int]:
    return partition.error_code, partition.low_watermark


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
def test_refused_as_a_whole(version: int) -> None:
    answer = LogScene().refuse(request("orders", 0, 0), version, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [told(partition) for partition in partitions_of(answer.topics)] == [(-1, -1)] * 2

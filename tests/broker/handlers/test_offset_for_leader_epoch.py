"""OffsetForLeaderEpoch: where a leader's time ended, asked of the right node and the wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.broker.log_scene import LogScene, only, partitions_of
from tests.support.batches import batch

VERSIONS = range(2, 5)
UNDEFINED = -1, -1


def request(topic: str, *epochs: int, current: int = -1) -> OffsetForLeaderEpochRequest:
    """Each epoch for the partition at its position."""
    return OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                topic,
                [
                    OffsetForLeaderEpochRequest.OffsetForLeaderPartition(index, current, epoch)
                    for index, epoch in enumerate(epochs)
                ],
            )
        ],
    )


def told(partition: Any) -> tuple[int, int, int]:
    return partition.error_code, partition.leader_epoch, partition.end_offset


def scene_with_log() -> LogScene:
    """Two records of epoch 0, one of epoch 3."""
    scene = LogScene()
    topic = scene.create("orders")
    scene.append(topic, batch(), batch())
    scene.lead(topic, 0, 1, leader_epoch=3)
    scene.append(topic, batch())
    return scene


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("epoch", "end"), [(0, (0, 2)), (1, (0, 2)), (2, (0, 2)), (3, (3, 3)), (4, UNDEFINED), (-1, UNDEFINED)]
)
def test_epochs(epoch: int, end: tuple[int, int], version: int) -> None:
    """One that wrote nothing is answered with the one before; one of the future, or none, with nothing."""
    assert told(only(scene_with_log().ask(request("orders", epoch), version).topics)) == (0, *end)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("current", "error"),
    [(3, 0), (-1, 0), (2, ErrorCode.FENCED_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH), (4, 75)],
)
def test_claims_about_the_leader_epoch(current: int, error: int, version: int) -> None:
    answer = scene_with_log().ask(request("orders", 0, current=current), version)
    assert told(only(answer.topics)) == (error, *((-1, -1) if error else (0, 2)))


@pytest.mark.parametrize("version", VERSIONS)
def test_other_nodes(version: int) -> None:
    """Replicas that don't lead judge the claim first, strangers don't."""
    scene = LogScene(nodes=3)
    topic = scene.create("orders", replicas=2)
    leader_id, follower_id = topic.placements[0].replicas
    (stranger_id,) = {1, 2, 3} - {leader_id, follower_id}
    for node_id, current, error in (
        (leader_id, 0, 0),
        (follower_id, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (follower_id, 5, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (stranger_id, 5, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ):
        answer = scene.ask(request("orders", 0, current=current), version, node_id=node_id)
        assert only(answer.topics).error_code == error


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_as_a_whole(version: int) -> None:
    answer = scene_with_log().refuse(request("orders", 0, 0), version, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [told(partition) for partition in partitions_of(answer.topics)] == [(-1, -1, -1)] * 2

"""ListOffsets: which times each version knows, and who may be asked. What is found is `test_partition_lookup`'s."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_offsets import ListOffsetsRequest
from tests.broker.log_scene import LogScene, list_request, only, partitions_of
from tests.support.batches import TIMESTAMP, batch

VERSIONS = range(1, 12)
LATEST, EARLIEST, MAX, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6


def told(partition: Any) -> tuple[int, int, int, int]:
    return partition.error_code, partition.timestamp, partition.offset, partition.leader_epoch


def scene_with_log() -> LogScene:
    """Records 0 to 3, a second apart but for the third, which is the newest; the log begins at 1."""
    scene = LogScene()
    topic = scene.create("orders")
    scene.append(topic, batch([(b"k", b"v")] * 4, timestamps=[TIMESTAMP + ms for ms in (0, 1000, 9000, 3000)]))
    topic.partitions[0].delete_records(1)
    return scene


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("timestamp", "version_first", "found"),
    [
        (LATEST, 1, (-1, 4, 0)),
        (EARLIEST, 1, (-1, 1, 0)),
        (MAX, 7, (TIMESTAMP + 9000, 2, 0)),
        (EARLIEST_LOCAL, 8, (-1, 1, 0)),
        (LATEST_TIERED, 9, (-1, -1, -1)),
        (EARLIEST_PENDING, 11, (-1, -1, -1)),
        (-7, 99, (-1, -1, -1)),
        (0, 1, (TIMESTAMP + 1000, 1, 0)),
        (TIMESTAMP + 1001, 1, (TIMESTAMP + 9000, 2, 0)),
        (TIMESTAMP + 9001, 1, (-1, -1, -1)),
    ],
)
def test_times(timestamp: int, version_first: int, found: tuple[int, int, int], version: int) -> None:
    """Special times are known from some version on; nothing found is no error."""
    partition = only(scene_with_log().ask(list_request("orders", timestamp), version).topics)
    if version < version_first:
        assert told(partition) == (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)
    else:
        assert told(partition) == (0, *found[:2], found[2] if version >= 4 else -1)


@pytest.mark.parametrize("version", range(4, 12))
@pytest.mark.parametrize(
    ("epoch", "error"),
    [(3, 0), (-1, 0), (2, ErrorCode.FENCED_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH), (4, 75)],
)
def test_claims_about_the_leader_epoch(epoch: int, error: int, version: int) -> None:
    """Only -1 is none."""
    scene = LogScene()
    scene.lead(scene.create("orders"), 0, 1, leader_epoch=3)
    answer = scene.ask(list_request("orders", LATEST, current_leader_epoch=epoch), version)
    assert told(only(answer.topics)) == (error, -1, -1 if error else 0, -1 if error else 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_other_nodes(version: int) -> None:
    """Only the leader answers; a replica does so for who is debugging, and a stranger for nobody."""
    scene = LogScene(nodes=3)
    topic = scene.create("orders", replicas=2)
    leader_id, follower_id = topic.placements[0].replicas
    (stranger_id,) = {1, 2, 3} - {leader_id, follower_id}

    def ask(node_id: int, replica_id: int) -> int:
        answer = scene.ask(list_request("orders", LATEST, replica_id=replica_id), version, node_id=node_id)
        code: int = only(answer.topics).error_code
        return code

    for replica_id, errors in ((-1, [0, 6, 6]), (-2, [0, 0, 6]), (follower_id, [0, 6, 6])):
        assert [ask(node_id, replica_id) for node_id in (leader_id, follower_id, stranger_id)] == errors


@pytest.mark.parametrize("version", range(2, 12))
def test_isolation(version: int) -> None:
    """For committed records the log ends where the first open transaction begins; replicas see all there is."""
    scene = LogScene(settings={"transaction.partition.verification.enable": "false"})
    topic = scene.create("orders")
    scene.append(topic, batch(), batch(attributes=0x10, producer_id=7, producer_epoch=0, base_sequence=0))

    def ask(timestamp: int, isolation_level: int, replica_id: int = -1) -> int:
        request = list_request("orders", timestamp, replica_id=replica_id, isolation_level=isolation_level)
        offset: int = only(scene.ask(request, version).topics).offset
        return offset

    assert [ask(LATEST, 0), ask(LATEST, 1), ask(LATEST, 1, replica_id=-2)] == [2, 1, 2]
    topic.partitions[0].delete_records(1)
    assert [ask(TIMESTAMP, 0), ask(TIMESTAMP, 1)] == [1, -1]


@pytest.mark.parametrize("version", range(2, 12))
def test_no_such_isolation_level(version: int) -> None:
    """Kafka stumbles over it, on every partition."""
    scene = scene_with_log()
    answer = scene.ask(list_request("orders", LATEST, LATEST, isolation_level=2), version)
    assert [told(partition) for partition in partitions_of(answer.topics)] == [(-1, -1, -1, -1)] * 2
    assert scene.ask(ListOffsetsRequest(-1, 2), version).topics == []


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_as_a_whole(version: int) -> None:
    answer = scene_with_log().refuse(list_request("orders", LATEST, LATEST), version, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [told(partition) for partition in partitions_of(answer.topics)] == [(-1, -1, -1, -1)] * 2

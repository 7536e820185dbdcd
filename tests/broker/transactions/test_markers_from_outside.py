"""WriteTxnMarkers, as tools send it: what each partition says when it can't take its marker."""

from __future__ import annotations

import pytest

from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.runtime.runtime import PartitionState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.broker.transactions.test_coordination import Transactions, running

_NOBODY = [(-1, 0), (7, -1)]


async def written(scene: Transactions, *names: str, producer: tuple[int, int] = (7, 0), node_id: int = 1) -> list[int]:
    """What partition 0 of each topic says to an abort marker."""
    topics = [WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, [0]) for name in names]
    marker = WriteTxnMarkersRequest.WritableTxnMarker(*producer, False, topics, 0)
    (result,) = (await scene.tell(WriteTxnMarkersRequest([marker]), 1, node_id)).markers
    return [topic.partitions[0].error_code for topic in result.topics]


async def test_a_partition_that_is_led_elsewhere_or_not_here() -> None:
    """The leader is asked; who holds no replica knows of no partition."""
    async with running(nodes=3) as scene:
        (placement,) = scene.create("orders", replicas=2).placements
        (follower,) = set(placement.replicas) - {placement.leader_id}
        (stranger,) = {1, 2, 3} - set(placement.replicas)
        assert await written(scene, "orders", node_id=placement.leader_id) == [ErrorCode.NONE]
        assert await written(scene, "orders", node_id=follower) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert await written(scene, "orders", node_id=stranger) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_log_that_is_offline_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka asks for online partitions alone."""
    async with running() as scene:
        orders = scene.create("orders")
        monkeypatch.setattr(type(orders.partitions[0]), "is_offline", True)
        assert await written(scene, "orders") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await written(scene, "orders", producer=(-1, -1)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await written(scene, GROUP_TOPIC) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("producer", _NOBODY)
async def test_nothing_is_written_for_nobody(producer: tuple[int, int]) -> None:
    """Of a partition that is not there Kafka says so before it looks at the producer; a group's says so alone."""
    async with running() as scene:
        log = scene.create("orders").partitions[0]
        assert await written(scene, "nowhere", producer=producer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await written(scene, "orders", GROUP_TOPIC, producer=producer) == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
        some = await written(scene, GROUP_TOPIC, "nowhere", producer=producer)
        assert some == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert log.log_end_offset == scene.cluster.topics[GROUP_TOPIC].partitions[0].log_end_offset == 0


@pytest.mark.parametrize("producer", [(7, 0), *_NOBODY])
async def test_groups_that_are_not_read_yet(monkeypatch: pytest.MonkeyPatch, producer: tuple[int, int]) -> None:
    """The marker is to come again: the coordinator of transactions knows no other word for it."""
    async with running() as scene:
        runtime = scene.services.group_coordination.of_node[1].runtime
        monkeypatch.setattr(type(runtime), "state_of", lambda _runtime, _index: PartitionState.LOADING)
        assert await written(scene, GROUP_TOPIC, producer=producer) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]

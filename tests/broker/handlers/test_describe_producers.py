"""DescribeProducers: whom a partition remembers."""

from __future__ import annotations

from typing import Any

from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_producers import DescribeProducersRequest
from tests.broker.log_scene import LogScene, only, partitions_of
from tests.log.partitions import numbered
from tests.support.batches import TIMESTAMP, batch


def request(topic: str, *indexes: int) -> DescribeProducersRequest:
    return DescribeProducersRequest([DescribeProducersRequest.TopicRequest(topic, list(indexes))])


def told(partition: Any) -> list[tuple[int, ...]]:
    """(id, epoch, last sequence, last timestamp, coordinator epoch, where the open transaction began)"""
    assert (partition.error_code, partition.error_message) == (0, None)
    return [
        (
            producer.producer_id,
            producer.producer_epoch,
            producer.last_sequence,
            producer.last_timestamp,
            producer.coordinator_epoch,
            producer.current_txn_start_offset,
        )
        for producer in partition.active_producers
    ]


def test_producers_of_a_partition() -> None:
    """Idempotent ones, and transactional ones before and after their transaction ends."""
    scene = LogScene(settings={"transaction.partition.verification.enable": "false"})
    topic = scene.create("orders", partitions=2)
    scene.append(topic, numbered(0, producer_id=7, epoch=2), numbered(1, 3, producer_id=7, epoch=2), batch())
    scene.append(topic, batch(attributes=0x10, producer_id=8, producer_epoch=0, base_sequence=0))
    idempotent = 7, 2, 3, TIMESTAMP, -1, -1
    answer = scene.ask(request("orders", 0, 1), 0)
    open_one, empty = partitions_of(answer.topics)
    assert told(open_one) == [idempotent, (8, 0, 0, TIMESTAMP, -1, 5)]
    assert told(empty) == []

    topic.partitions[0].append_marker(TransactionMarker(is_commit=True, coordinator_epoch=4), 8, 1, 2, TIMESTAMP + 5)
    ended = only(scene.ask(request("orders", 0), 0).topics)
    assert told(ended) == [idempotent, (8, 1, -1, TIMESTAMP + 5, 4, -1)]


def test_topic_that_does_not_exist_or_never_could() -> None:
    """Both with a text, on each partition."""
    scene = LogScene()
    for name, error in (("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION)):
        answer = scene.ask(request(name, 0, 1), 0)
        assert [(p.error_code, bool(p.error_message)) for p in partitions_of(answer.topics)] == [(error, True)] * 2


def test_partition_that_does_not_exist_or_is_elsewhere() -> None:
    """Without a text; a replica answers as well as the leader."""
    scene = LogScene(nodes=3)
    topic = scene.create("orders", replicas=2)
    (stranger_id,) = {1, 2, 3} - set(topic.placements[0].replicas)
    for node_id in topic.placements[0].replicas:
        answer = scene.ask(request("orders", 0, 1), 0, node_id=node_id)
        assert [(p.error_code, p.error_message) for p in partitions_of(answer.topics)] == [(0, None), (3, None)]
    assert only(scene.ask(request("orders", 0), 0, node_id=stranger_id).topics).error_code == 6


def test_refused_as_a_whole() -> None:
    answer = LogScene().refuse(request("orders", 0, 1), 0, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [partition.error_code for partition in partitions_of(answer.topics)] == [-1, -1]

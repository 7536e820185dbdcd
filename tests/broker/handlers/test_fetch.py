"""Fetch without waiting: what is read, within which sizes, and what is answered where nothing can be."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ottla.broker.fetching.fetch_session import FetchedPartition
from ottla.broker.handlers import fetch
from ottla.broker.network.call import Call
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch import FetchRequest
from ottla.protocol.primitives import ZERO_UUID
from ottla.protocol.records import batch_spans, read_header
from tests.broker.log_scene import (
    LogScene,
    SentCall,
    error_codes,
    fetch_request,
    only,
    partitions_of,
)
from tests.support.batches import batch

VERSIONS = range(4, 19)
ONE = batch()
THREE = batch(((b"a", b"1"), (b"b", b"2"), (b"c", b"3")))


def offsets_of(partition: Any) -> list[int]:
    """Base offsets of the batches that came whole."""
    return [read_header(partition.records, span.position).base_offset for span in batch_spans(partition.records)]


def told(partition: Any) -> tuple[int, int, int, int]:
    """(error, high watermark, last stable offset, log start)"""
    return (
        partition.error_code,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log_start_offset,
    )


class TestReading:
    def test_internal_topics_are_read_like_others(self) -> None:
        scene = LogScene()
        topic = scene.create(GROUP_TOPIC)
        scene.append(topic, ONE)
        assert offsets_of(only(scene.ask(fetch_request(topic, 0), 12).responses)) == [0]

    def test_records_are_not_copied(self) -> None:
        """What leaves is the log's own memory."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE)
        request = fetch_request(topic, 0)
        answer = fetch.handle(request, cast(Call, SentCall(scene.nodes[1], request, 12, "ana")))
        assert answer is not None
        assert isinstance(only(answer.responses).records, memoryview)


class TestSizes:
    def test_last_batch_may_be_cut_off(self) -> None:
        """A client drops what isn't whole: 100 bytes are one batch and a part of the next."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE, THREE)
        assert len(only(scene.ask(fetch_request(topic, 0, partition_max_bytes=100), 11).responses).records) == 100

    def test_order_of_the_request_decides_who_is_first(self) -> None:
        """The first that has something, so an empty partition before it takes nothing away."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        scene.append(topic, ONE)
        scene.append(topic, THREE, index=1)
        answer = scene.ask(fetch_request(topic, 1, 0, max_bytes=1), 11)
        assert [offsets_of(partition) for partition in partitions_of(answer.responses)] == [[], [0]]

    def test_fetch_max_bytes_caps_the_client(self) -> None:
        """And with it min_bytes, or the client would wait for more than it may get."""
        scene = LogScene(settings={"fetch.max.bytes": "1024"})
        topic = scene.create("orders")
        scene.append(topic, *[ONE] * 100)
        answer = scene.ask(fetch_request(topic, 0, min_bytes=1 << 20, max_wait_ms=1000), 11)
        assert len(only(answer.responses).records) == 1024

    @pytest.mark.parametrize("limits", [{"max_bytes": -1}, {"partition_max_bytes": -1}])
    def test_negative_limit(self, limits: dict[str, int]) -> None:
        """Kafka has no name for the error, and only where there is something to read."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        scene.append(topic, ONE)
        answer = scene.ask(fetch_request(topic, 0, 0, **limits), 11)
        assert error_codes(answer.responses) == [ErrorCode.UNKNOWN_SERVER_ERROR, 0]


class TestIsolation:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_open_and_aborted_transactions(self, version: int) -> None:
        """Who wants committed records stops at the first open transaction, and is told of the aborted ones."""
        scene = LogScene(settings={"transaction.partition.verification.enable": "false"})
        topic = scene.create("orders")
        partition = topic.partitions[0]
        scene.append(topic, *[batch(attributes=0x10, producer_id=7, producer_epoch=0, base_sequence=n) for n in (0, 1)])

        everything = only(scene.ask(fetch_request(topic, 0), version).responses)
        committed = only(scene.ask(fetch_request(topic, 0, isolation_level=1), version).responses)
        assert (offsets_of(everything), everything.aborted_transactions) == ([0, 1], None)
        assert (offsets_of(committed), committed.aborted_transactions) == ([], [])
        assert told(everything)[:3] == told(committed)[:3] == (0, 2, 0)

        partition.append_marker(TransactionMarker(is_commit=False, coordinator_epoch=0), 7, 0, 1, 0)
        for offset in (0, 2):
            committed = only(scene.ask(fetch_request(topic, offset, isolation_level=1), version).responses)
            assert [(t.producer_id, t.first_offset) for t in committed.aborted_transactions] == [(7, 0)]
        committed = only(scene.ask(fetch_request(topic, 3, isolation_level=1), version).responses)
        assert committed.aborted_transactions == []


class TestEpochs:
    @pytest.mark.parametrize("version", range(9, 19))
    @pytest.mark.parametrize(
        ("epoch", "error"),
        [
            (3, 0),
            (-1, 0),
            (-2, 0),
            (2, ErrorCode.FENCED_LEADER_EPOCH),
            (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ],
    )
    def test_of_the_leader(self, epoch: int, error: int, version: int) -> None:
        """An old one is fenced and from v16 on told the leader, a future one is unknown; a negative one is no claim."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.lead(topic, 0, 1, leader_epoch=3)
        answer = scene.ask(fetch_request(topic, 0, current_leader_epoch=epoch), version)
        partition = only(answer.responses)
        assert partition.error_code == error
        is_told = error == ErrorCode.FENCED_LEADER_EPOCH and version >= 16
        leader = partition.current_leader
        assert (leader.leader_id, leader.leader_epoch) == ((1, 3) if is_told else (-1, -1))
        assert [node.node_id for node in answer.node_endpoints] == [1] * is_told

    @pytest.mark.parametrize("version", range(12, 19))
    def test_of_the_last_record(self, version: int) -> None:
        """A reader whose log went another way is told where to cut it, and gets no records."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE, ONE)
        scene.lead(topic, 0, 1, leader_epoch=2)
        scene.append(topic, ONE)
        for offset, epoch, diverging in ((2, 0, (-1, -1)), (3, 0, (0, 2)), (3, 1, (0, 2)), (3, 2, (-1, -1))):
            partition = only(scene.ask(fetch_request(topic, offset, last_fetched_epoch=epoch), version).responses)
            found = partition.diverging_epoch
            assert (partition.error_code, found.epoch, found.end_offset) == (0, *diverging)
        ahead = only(scene.ask(fetch_request(topic, 3, last_fetched_epoch=5), version).responses)
        assert ahead.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


class TestNodes:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_node_without_the_partition(self, version: int) -> None:
        """Names the leader from v16 on."""
        scene = LogScene(nodes=2)
        topic = scene.create("orders")
        scene.append(topic, ONE)
        leader_id = topic.placements[0].leader_id
        answer = scene.ask(fetch_request(topic, 0), version, node_id=3 - leader_id)
        partition = only(answer.responses)
        assert told(partition) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, -1)
        nodes = [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints]
        if version >= 16:
            assert partition.current_leader.leader_id == leader_id
            assert nodes == [(leader_id, "127.0.0.1", 9091 + leader_id, None)]
        else:
            assert (partition.current_leader.leader_id, nodes) == (-1, [])

    @pytest.mark.parametrize("version", VERSIONS)
    def test_follower_may_be_read_from(self, version: int) -> None:
        """From v11 on (KIP-392)."""
        scene = LogScene(nodes=2)
        topic = scene.create("orders", replicas=2)
        scene.append(topic, ONE)
        follower_id = 3 - topic.placements[0].leader_id
        partition = only(scene.ask(fetch_request(topic, 0), version, node_id=follower_id).responses)
        assert partition.error_code == (0 if version >= 11 else ErrorCode.NOT_LEADER_OR_FOLLOWER)

    @pytest.mark.parametrize("version", VERSIONS)
    def test_fetching_as_a_replica(self, version: int) -> None:
        """Only the other replicas may, only from the leader; a stranger is told in terms of its claim."""
        scene = LogScene(nodes=3)
        topic = scene.create("orders", replicas=2)
        scene.append(topic, ONE)
        leader_id, follower_id = topic.placements[0].replicas
        (stranger_id,) = {1, 2, 3} - {leader_id, follower_id}

        def ask(replica_id: int, node_id: int, epoch: int = -1) -> int:
            request = fetch_request(topic, 0, current_leader_epoch=epoch, replica_id=replica_id)
            if version >= 15:
                request.replica_id, request.replica_state = -1, FetchRequest.ReplicaState(replica_id)
            code: int = only(scene.ask(request, version, node_id=node_id).responses).error_code
            return code

        not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert ask(follower_id, leader_id) == 0
        assert ask(leader_id, leader_id) == ask(stranger_id, leader_id) == not_leader
        assert ask(stranger_id, leader_id, epoch=0) == (ErrorCode.UNKNOWN_LEADER_EPOCH if version >= 9 else not_leader)
        assert ask(leader_id, follower_id) == not_leader

    @pytest.mark.parametrize("version", range(4, 15))
    def test_fetching_between_disks(self, version: int) -> None:
        """Replica id -3 is neither consumer nor follower to Kafka: any replica will do, and isolation doesn't count."""
        scene = LogScene(nodes=2, settings={"transaction.partition.verification.enable": "false"})
        topic = scene.create("orders", replicas=2)
        scene.append(topic, batch(attributes=0x10, producer_id=7, producer_epoch=0, base_sequence=0))
        request = fetch_request(topic, 0, replica_id=-3, isolation_level=1)
        for node_id in (1, 2):
            assert offsets_of(only(scene.ask(request, version, node_id=node_id).responses)) == [0]

    def test_not_hosted_comes_before_the_epoch_and_the_epoch_before_the_leader(self) -> None:
        scene = LogScene(nodes=3)
        topic = scene.create("orders", replicas=2)
        leader_id, follower_id = topic.placements[0].replicas
        (stranger_id,) = {1, 2, 3} - {leader_id, follower_id}
        request = fetch_request(topic, 0, current_leader_epoch=9)
        not_leader = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert only(scene.ask(request, 10, node_id=stranger_id).responses).error_code == not_leader
        for node_id in (leader_id, follower_id):
            answer = scene.ask(request, 10, node_id=node_id)
            assert only(answer.responses).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


class TestOrderOfTheAnswer:
    def test_partitions_stay_as_they_were_asked_for(self) -> None:
        """So a topic may come twice, when another one was asked for in between."""
        scene = LogScene()
        orders, others = scene.create("orders", partitions=2), scene.create("others")
        request = fetch_request(orders, 0)
        request.topics += fetch_request(others, 0).topics + fetch_request(orders, 0, 0).topics
        del request.topics[2].partitions[0]
        answer = scene.ask(request, 12)
        assert [(t.topic, [p.partition_index for p in t.partitions]) for t in answer.responses] == [
            ("orders", [0]),
            ("others", [0]),
            ("orders", [1]),
        ]


@pytest.mark.parametrize("version", VERSIONS)
def test_refused_as_a_whole(version: int) -> None:
    """On every partition and on top; from v13 on, when there are no names, on top alone. The session id comes back."""
    scene = LogScene()
    topic = scene.create("orders", partitions=2)
    request = fetch_request(topic, 0, 0, session_id=5 if version >= 7 else 0)
    answer = scene.refuse(request, version, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert error_codes(answer.responses) == ([] if version >= 13 else [-1, -1])
    assert (answer.error_code, answer.session_id) == ((-1, 5) if version >= 7 else (0, 0))


def test_partitions_of_a_session_go_by_name_or_by_id() -> None:
    """A zero id means the name counts, with or without one."""
    assert FetchedPartition("orders", ZERO_UUID, 3, 0, 0).key == ("orders", 3)
    assert FetchedPartition("orders", b"\1" * 16, 3, 0, 0).key == (b"\1" * 16, 3)
    assert FetchedPartition(None, ZERO_UUID, 3, 0, 0).key == ("", 3)

"""Fetches that wait: what ends the waiting, what does not, and what is left behind."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.topic import Topic
from ottla.log.partition import Partition
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.log_scene import LogScene, SentCall, absent_topic, error_codes, fetch_request, only, partitions_of
from tests.support.batches import batch

VERSIONS = range(4, 19)
ONE = batch()


def nobody_waits(scene: LogScene) -> bool:
    """Whoever waits has a deadline that runs."""
    return scene.waiting.fetch.delayed == 0 and scene.timer.size == 0


def waiting(scene: LogScene, topic: Topic, *offsets: int, version: int = 12, **changes: int) -> SentCall:
    """A fetch that is parked."""
    call = scene.send(fetch_request(topic, *offsets, **{"max_wait_ms": 500} | changes), version)
    assert not call.is_answered
    assert scene.waiting.fetch.delayed > 0
    return call


class TestNotWaiting:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_who_has_enough_or_asks_for_nothing_is_answered_at_once(self, version: int) -> None:
        """min_bytes 0 is enough, so is an error; no partitions, and none that exists, are nothing to wait for."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        scene.append(topic, ONE)
        for request in (
            fetch_request(topic, 0, max_wait_ms=500),
            fetch_request(topic, 1, max_wait_ms=500, min_bytes=0),
            fetch_request(topic, 1, max_wait_ms=0),
            fetch_request(topic, 1, max_wait_ms=-1),
            fetch_request(topic, 1, 7, max_wait_ms=500),
            fetch_request(None, max_wait_ms=500),
            fetch_request(absent_topic(topic), 0, max_wait_ms=500),
        ):
            assert scene.send(request, version).is_answered
        assert nobody_waits(scene)

    @pytest.mark.parametrize("version", range(9, 19))
    def test_claim_about_the_leader_epoch_that_is_wrong(self, version: int) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        call = scene.send(fetch_request(topic, 0, max_wait_ms=500, current_leader_epoch=5), version)
        assert error_codes(call.answer_given.responses) == [ErrorCode.UNKNOWN_LEADER_EPOCH]

    def test_diverging_epoch(self) -> None:
        """A log to be cut needs no records."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE)
        scene.lead(topic, 0, 1, leader_epoch=2)
        scene.append(topic, ONE)
        call = scene.send(fetch_request(topic, 2, max_wait_ms=500, last_fetched_epoch=1), 12)
        assert only(call.answer_given.responses).diverging_epoch.end_offset == 1


class TestManyPartitions:
    def test_only_partitions_that_moved_are_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Else a produce to a hundred costs each fetch of ten thousand a million looks."""
        scene = LogScene()
        topic = scene.create("orders", partitions=50)
        calls = [waiting(scene, topic, *[0] * 50, min_bytes=2 * len(ONE)) for _ in range(3)]
        looked_at: list[int] = []
        look = Partition.bytes_after

        def noting(partition: Partition, *arguments: Any) -> int | None:
            looked_at.append(partition.index)
            return look(partition, *arguments)

        monkeypatch.setattr(Partition, "bytes_after", noting)
        scene.append(topic, ONE, index=7)
        scene.turn()
        assert looked_at == [7] * 3
        assert not any(call.is_answered for call in calls)
        scene.append(topic, ONE, index=11)
        scene.turn()
        assert looked_at == [7] * 3 + [11] * 3
        assert all(call.is_answered for call in calls)

    def test_beyond_what_all_may_wait_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A fetch is answered with what there is."""
        monkeypatch.setattr("ottla.broker.handlers.fetch.WATCHED_PARTITIONS_MAX", 4)
        scene = LogScene()
        topic = scene.create("orders", partitions=5)
        waiting(scene, topic, *[0] * 5)
        assert scene.send(fetch_request(topic, 0, max_wait_ms=500), 12).is_answered


class TestBytes:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_append_ends_the_waiting_when_the_turn_is_over(self, version: int) -> None:
        """Not within the append: whoever appends is in the middle of something."""
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0, version=version)
        scene.append(topic, ONE)
        assert not call.is_answered
        scene.turn()
        partition = only(call.answer_given.responses)
        assert (bytes(partition.records)[12:], partition.high_watermark) == (bytes(4) + ONE[16:], 1)
        assert nobody_waits(scene)

    def test_min_bytes_are_waited_for(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0, min_bytes=2 * len(ONE) + 1)
        for _ in range(2):
            scene.append(topic, ONE)
            scene.turn()
            assert not call.is_answered
        scene.append(topic, ONE)
        scene.turn()
        assert len(only(call.answer_given.responses).records) == 3 * len(ONE)

    def test_partitions_count_together_each_up_to_its_limit(self) -> None:
        """What one has beyond partition_max_bytes is of no use to this fetch."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        limit = len(ONE)
        call = waiting(scene, topic, 0, 0, min_bytes=2 * limit, partition_max_bytes=limit)
        scene.append(topic, *[ONE] * 5)
        scene.turn()
        assert not call.is_answered
        scene.append(topic, ONE, index=1)
        scene.turn()
        assert [len(partition.records) for partition in partitions_of(call.answer_given.responses)] == [limit, limit]

    def test_batches_of_one_turn_are_looked_at_once(self) -> None:
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        call = waiting(scene, topic, 0, 0)
        scene.append(topic, ONE, ONE, ONE)
        scene.append(topic, ONE, ONE, index=1)
        assert scene.turn() == 1
        assert [len(partition.records) for partition in partitions_of(call.answer_given.responses)] == [
            3 * len(ONE),
            2 * len(ONE),
        ]

    def test_appends_that_nobody_waits_for_cost_no_turn(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        waiting(scene, topic, 0)
        scene.append(topic, ONE)
        scene.turn()
        scene.append(topic, ONE)
        assert scene.turn() == 0

    def test_topic_made_later_is_listened_to(self) -> None:
        """And so are partitions that were added to one."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.cluster.add_partitions(topic, [[1]])
        call = waiting(scene, topic, 0, 0)
        scene.append(topic, ONE, index=1)
        scene.turn()
        assert call.is_answered

    def test_appends_on_another_partition_wake_nobody(self) -> None:
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        call = waiting(scene, topic, 0)
        scene.append(topic, ONE, index=1)
        scene.turn()
        assert not call.is_answered

    def test_committed_records_are_waited_for_as_such(self) -> None:
        """Records of an open transaction are none yet for who reads committed ones."""
        scene = LogScene(settings={"transaction.partition.verification.enable": "false"})
        topic = scene.create("orders")
        everything = waiting(scene, topic, 0)
        committed = waiting(scene, topic, 0, isolation_level=1)
        scene.append(topic, batch(attributes=0x10, producer_id=7, producer_epoch=0, base_sequence=0))
        scene.turn()
        assert (everything.is_answered, committed.is_answered) == (True, False)

    def test_end_in_another_segment(self) -> None:
        """Then there is something to read, however little: the rest of the old segment."""
        scene = LogScene()
        topic = scene.create("orders", segment_bytes="1048576")
        scene.append(topic, ONE)
        call = waiting(scene, topic, 0, min_bytes=10_000_000, max_bytes=1 << 30, partition_max_bytes=1 << 30)
        scene.append(topic, *[batch(((b"k", bytes(1_000_000)),))] * 2)
        scene.turn()
        assert len(only(call.answer_given.responses).records) < 1 << 20

    def test_a_consumer_that_keeps_pace(self) -> None:
        """It fetches again within the turn that answered it, is parked again, and finds what comes next."""
        scene = LogScene()
        topic = scene.create("orders")
        for offset in range(3):
            call = waiting(scene, topic, offset)
            scene.append(topic, ONE)
            scene.turn()
            assert len(only(call.answer_given.responses).records) == len(ONE)
        assert nobody_waits(scene)


class TestTime:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_max_wait_ends_the_waiting(self, version: int) -> None:
        """On the millisecond, with whatever there is."""
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0, version=version, max_wait_ms=500, min_bytes=1000)
        scene.append(topic, ONE)
        scene.turn()
        scene.advance(499)
        assert not call.is_answered
        scene.advance(1)
        assert len(only(call.answer_given.responses).records) == len(ONE)
        assert scene.waiting.fetch.expired == 1
        assert nobody_waits(scene)

    def test_topic_that_does_not_exist_does_not_cut_the_wait_short(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        request = fetch_request(absent_topic(topic), 0, max_wait_ms=500)
        request.topics += fetch_request(topic, 0).topics
        call = scene.send(request, 12)
        scene.advance(499)
        assert not call.is_answered
        scene.advance(1)
        assert error_codes(call.answer_given.responses) == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

    def test_append_and_deadline_at_once(self) -> None:
        """The answer is given once, whoever comes first."""
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0, max_wait_ms=500)
        scene.append(topic, ONE)
        scene.advance(500)
        scene.turn()
        assert len(only(call.answer_given.responses).records) == len(ONE)


class TestLosing:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_topic_is_deleted(self, version: int) -> None:
        """The answer says so at once; the id, known a moment ago, is not asked for again."""
        scene = LogScene()
        topic = scene.create("orders", partitions=2)
        call = waiting(scene, topic, 0, 0, version=version)
        scene.ask(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=1000), 5)
        scene.turn()
        assert error_codes(call.answer_given.responses) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
        assert nobody_waits(scene)
        assert scene.waiting.fetch.watched_keys == []

    @pytest.mark.parametrize("version", [12, 13])
    def test_topic_is_deleted_and_made_anew(self, version: int) -> None:
        """By name that is the new topic; by id it is another one."""
        scene = LogScene()
        call = waiting(scene, scene.create("orders"), 0, version=version)
        scene.ask(DeleteTopicsRequest(topic_names=["orders"], timeout_ms=1000), 5)
        scene.create("orders")
        scene.turn()
        assert error_codes(call.answer_given.responses) == [ErrorCode.INCONSISTENT_TOPIC_ID if version == 13 else 0]

    @pytest.mark.parametrize("version", [10, 11, 16])
    def test_another_node_takes_the_lead(self, version: int) -> None:
        """From v11 on a consumer may stay with a replica, if it made no claim about the leader."""
        scene = LogScene(nodes=2)
        topic = scene.create("orders", replicas=2)
        topic.placements[0].leader_id = 1
        calls = [waiting(scene, topic, 0, version=version, current_leader_epoch=epoch) for epoch in (-1, 0)]
        scene.lead(topic, 0, 2, leader_epoch=1)
        scene.turn()
        assert [call.is_answered for call in calls] == [version < 11, True]
        answer = calls[1].answer_given
        assert error_codes(answer.responses) == [ErrorCode.FENCED_LEADER_EPOCH]
        assert [node.node_id for node in answer.node_endpoints] == [2] * (version >= 16)

    def test_start_of_the_log_passes_by(self) -> None:
        """Deleting records concerns nobody who waits at the end."""
        scene = LogScene()
        topic = scene.create("orders")
        scene.append(topic, ONE)
        call = waiting(scene, topic, 1)
        topic.partitions[0].delete_records(1)
        assert scene.turn() == 0
        assert not call.is_answered


class TestAbandoned:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_client_goes_away(self, version: int) -> None:
        """Nobody is answered, nothing is read, no deadline is left; a later append finds nobody."""
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0, version=version)
        assert call.on_abandoned is not None
        call.on_abandoned()
        assert nobody_waits(scene)
        assert scene.waiting.fetch.expired == 0
        scene.append(topic, ONE)
        scene.turn()
        scene.advance(1000)
        assert not call.is_answered
        assert scene.waiting.fetch.watched == 0

    def test_client_goes_away_after_the_answer(self) -> None:
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0)
        scene.append(topic, ONE)
        scene.turn()
        assert call.on_abandoned is not None
        call.on_abandoned()
        assert call.is_answered

    def test_thousands_who_went_away_are_swept_out(self) -> None:
        """Of a topic that nothing happens to."""
        scene = LogScene()
        topic = scene.create("orders")
        calls = [waiting(scene, topic, 0) for _ in range(2000)]
        for call in calls:
            assert call.on_abandoned is not None
            call.on_abandoned()
        scene.advance(0)
        assert scene.waiting.fetch.watched < 1000

    def test_broker_stops(self) -> None:
        """Whoever waits is answered with what there is."""
        scene = LogScene()
        topic = scene.create("orders")
        call = waiting(scene, topic, 0, min_bytes=1000)
        scene.append(topic, ONE)
        scene.services.close()
        assert len(only(call.answer_given.responses).records) == len(ONE)
        assert nobody_waits(scene)


def test_settled_means_that_everybody_was_looked_at() -> None:
    """The virtual clock moves on only then."""
    scene = LogScene()
    topic = scene.create("orders")
    waiting(scene, topic, 0)
    settled = [scene.services.is_settled]
    scene.append(topic, ONE)
    settled.append(scene.services.is_settled)
    scene.turn()
    settled.append(scene.services.is_settled)
    assert settled == [True, False, True]

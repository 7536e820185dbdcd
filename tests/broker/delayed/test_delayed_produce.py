"""Produces that wait until every in-sync replica has what they sent.

All replicas share a log here, so a high watermark only lags while a replica is down that nobody has missed yet: here
node 2, mostly, which comes back in time.
"""

from __future__ import annotations

import pytest

from ottla.cluster.topic import Topic
from ottla.protocol.errors import ErrorCode
from tests.broker.log_scene import (
    LogScene,
    SentCall,
    error_codes,
    fetch_request,
    only,
    partitions_of,
    produce_request,
    replicated,
)
from tests.support.batches import batch

VERSIONS = range(3, 14)


def waiting(scene: LogScene, topic: Topic, *batches: bytes, version: int = 9, timeout_ms: int = 1_000) -> SentCall:
    """A produce that is parked."""
    call = scene.send(produce_request(topic, *batches, timeout_ms=timeout_ms), version)
    assert not call.is_answered
    assert scene.waiting.produce.delayed == 1
    return call


def nobody_waits(scene: LogScene) -> bool:
    """Whoever waits has a deadline that runs; no node is about to be missed."""
    return scene.waiting.produce.delayed == 0 and scene.timer.size == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_comes_when_the_replicas_have_caught_up(version: int) -> None:
    """With the offset the batch got, when the turn is over; consumers see it from then on."""
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    call = waiting(scene, topic, batch(), version=version)
    scene.node_returns(2)
    assert not call.is_answered
    scene.turn()
    answer = only(call.answer_given.responses)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert nobody_waits(scene)


def test_only_acks_of_all_wait() -> None:
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    for acks in (0, 1):
        assert scene.send(produce_request(topic, batch(), acks=acks), 9).is_answered


def test_every_partition_is_waited_for() -> None:
    """Those that are through, or failed, keep what they have."""
    scene, topic = replicated([1], [1, 2], [1], [1, 3])
    scene.node_dies(2)
    scene.node_dies(3)
    call = waiting(scene, topic, batch(), batch(), batch(crc_added=1), batch())
    for node_id in (2, 3):
        assert not call.is_answered
        scene.node_returns(node_id)
        scene.turn()
    assert error_codes(call.answer_given.responses) == [0, 0, ErrorCode.CORRUPT_MESSAGE, 0]


def test_client_that_has_said_its_last_byte_is_waited_for() -> None:
    """It may still read the answer; when its connection is lost, nothing waits any longer."""
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    call = waiting(scene, topic, batch())
    assert call.on_ended is not None
    assert call.on_abandoned is not None
    call.on_ended()
    assert scene.waiting.produce.delayed == 1
    call.on_abandoned()
    assert scene.waiting.produce.delayed == 0
    assert not call.is_answered


def test_time_runs_out() -> None:
    """Who is through by then has its success; the others' batches stay in the log all the same."""
    scene, topic = replicated([1, 2], [1, 3])
    scene.node_dies(2)
    scene.node_dies(3)
    call = waiting(scene, topic, batch(), batch(), timeout_ms=1_000)
    scene.node_returns(2)
    scene.turn()
    scene.advance(999)
    assert not call.is_answered
    scene.advance(1)
    answer = call.answer_given
    assert error_codes(answer.responses) == [0, ErrorCode.REQUEST_TIMED_OUT]
    assert [partition.base_offset for partition in partitions_of(answer.responses)] == [0, 0]
    assert topic.partitions[1].log_end_offset == 1
    scene.node_returns(3)
    assert nobody_waits(scene)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_no_patience(timeout_ms: int) -> None:
    """The deadline has passed already; the answer still comes from it."""
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    call = waiting(scene, topic, batch(), timeout_ms=timeout_ms)
    scene.advance(0)
    assert error_codes(call.answer_given.responses) == [ErrorCode.REQUEST_TIMED_OUT]


def test_replicas_fall_out_meanwhile() -> None:
    """The batch is written, but by the end of the turn not as often as was asked for."""
    scene, topic = replicated([1, 2], min_insync_replicas="2")
    scene.node_dies(2)
    call = waiting(scene, topic, batch())
    scene.node_returns(2)
    scene.node_leaves(2)
    scene.turn()
    assert error_codes(call.answer_given.responses) == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


@pytest.mark.parametrize("version", VERSIONS)
def test_another_node_takes_the_lead(version: int) -> None:
    """Whether it has the batch, only the new leader knows; v10 says who that is."""
    scene, topic = replicated([1, 2, 3])
    scene.node_dies(3)
    call = waiting(scene, topic, batch(), version=version)
    scene.node_leaves(1)
    scene.turn()
    answer = only(call.answer_given.responses)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader.leader_id == (2 if version >= 10 else -1)


def test_topic_is_deleted() -> None:
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    call = waiting(scene, topic, batch())
    scene.cluster.delete_topic(topic)
    scene.turn()
    assert error_codes(call.answer_given.responses) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert scene.waiting.produce.watched_keys == []


def test_broker_stops() -> None:
    """Nobody can know any more."""
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    call = waiting(scene, topic, batch())
    scene.services.close()
    assert error_codes(call.answer_given.responses) == [ErrorCode.REQUEST_TIMED_OUT]


def test_fetches_wait_for_the_same() -> None:
    """A consumer gets no record that not all replicas have: both are answered in one turn, the produce first."""
    scene, topic = replicated([1, 2])
    scene.node_dies(2)
    fetch = scene.send(fetch_request(topic, 0, max_wait_ms=500), 12)
    produce = waiting(scene, topic, batch())
    scene.turn()
    assert not fetch.is_answered
    scene.node_returns(2)
    scene.turn()
    assert (produce.is_answered, fetch.is_answered) == (True, True)
    assert len(only(fetch.answer_given.responses).records) == len(batch())

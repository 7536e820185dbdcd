"""Whatever happens in the turn between the answer that a transaction is decided and its markers: each is written once.

The answer has left by then, so nothing may be lost, and the next transaction may begin as soon as this one is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from ottla.broker.transactions import markers
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.coordinator.transactions import step
from ottla.coordinator.transactions.events import DescribeRequested
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.broker.transactions.test_coordination import ID, Transactions, error_of, running

_TOPICS: Final = {"coordinator": TRANSACTION_TOPIC, "leader": "orders", "group coordinator": GROUP_TOPIC}


def moves(topic: str) -> Callable[[Transactions], None]:
    return lambda scene: scene.lead(topic, 2)


def moves_away_and_back(topic: str) -> Callable[[Transactions], None]:
    def happen(scene: Transactions) -> None:
        scene.lead(topic, 2)
        scene.lead(topic, 1)

    return happen


def dies_and_returns(scene: Transactions) -> None:
    node = scene.cluster.all_nodes[1]
    scene.services.failover.node_died(node)
    scene.services.failover.node_returns(node)


def leaves_and_returns(scene: Transactions) -> None:
    node = scene.cluster.all_nodes[1]
    scene.services.failover.node_leaves(node)
    scene.services.failover.node_returns(node)


def meets_a_bug(scene: Transactions) -> None:
    def poison(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(step._EVENTS, DescribeRequested, poison)
        scene.send(DescribeTransactionsRequest([ID]), 0)


def time_goes(scene: Transactions) -> None:
    clock = scene.timer.clock
    clock.move_to(clock.now_ms() + 3_600_000)  # type: ignore[attr-defined]
    scene.timer.fire_due()


def ends_again(scene: Transactions) -> None:
    assert asked(scene, EndTxnRequest(ID, *scene.producer, committed=True), 5) == ErrorCode.CONCURRENT_TRANSACTIONS


def begins_anew(scene: Transactions) -> None:
    assert asked(scene, InitProducerIdRequest(ID, 60_000), 5) == ErrorCode.CONCURRENT_TRANSACTIONS


def asked(scene: Transactions, request: EndTxnRequest | InitProducerIdRequest, version: int) -> int:
    answer = scene.send(request, version).answered
    assert answer is not None
    return int(answer.error_code)  # type: ignore[attr-defined]


HAPPENINGS: Final = {
    "nothing": lambda _scene: None,
    **{f"the {who} moves": moves(topic) for who, topic in _TOPICS.items()},
    **{f"the {who} moves away and back": moves_away_and_back(topic) for who, topic in _TOPICS.items()},
    "the only node that has all of it dies and returns": dies_and_returns,
    "it leaves and returns": leaves_and_returns,
    "the coordinator meets a bug": meets_a_bug,
    "an hour goes by": time_goes,
    "the producer has not heard the answer": ends_again,
    "another producer begins": begins_anew,
}


@pytest.mark.parametrize("at_once_max", [64, 1], ids=["at once", "in the background"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("happening", HAPPENINGS.values(), ids=HAPPENINGS)
async def test_each_marker_is_written_once(
    happening: Callable[[Transactions], None], version: int, at_once_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record and an offset are committed, and the coordinator knows that it is over; whoever that is by then."""
    monkeypatch.setattr(markers, "_AT_ONCE", at_once_max)
    async with running(nodes=2) as scene:
        scene.create("orders")
        await scene.begin()
        call = scene.produces("orders")
        await scene.settle()
        assert error_of(call) == ErrorCode.NONE
        await scene.commit_offset(7)
        ended = scene.send(EndTxnRequest(ID, *scene.producer, committed=True), version)
        assert ended.answered is not None
        happening(scene)
        await scene.settle()
        await scene.advance(10_000)
        assert scene.services.transaction_coordination._markers._unfinished == {}
        (log,) = scene.cluster.topics["orders"].partitions
        assert (log.log_end_offset, log.last_stable_offset) == (2, 2)
        described = await scene.tell(DescribeTransactionsRequest([ID]), 0, leader(scene, TRANSACTION_TOPIC))
        (state,) = described.transaction_states
        assert (state.transaction_state, state.topics) == ("CompleteCommit", [])
        offsets = [OffsetFetchRequest.OffsetFetchRequestTopic("orders", [0])]
        fetch = OffsetFetchRequest("group", offsets, require_stable=True)
        (topic,) = (await scene.tell(fetch, 7, leader(scene, GROUP_TOPIC))).topics
        (partition,) = topic.partitions
        assert (partition.error_code, partition.committed_offset) == (0, 7)


def leader(scene: Transactions, topic: str) -> int:
    return scene.cluster.topics[topic].placements[0].leader_id


async def test_a_topic_that_is_deleted_in_between_needs_none() -> None:
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.add("orders", 0)
        scene.send(EndTxnRequest(ID, *scene.producer, committed=True), 5)
        scene.cluster.delete_topic(scene.cluster.topics["orders"])
        await scene.settle()
        assert await scene.state() == ("CompleteCommit", 0)


async def test_who_closes_in_between_writes_nothing_more() -> None:
    """It is decided in the log; whoever is next writes the markers."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.add("orders", 0)
        (log,) = scene.cluster.topics["orders"].partitions
        scene.send(EndTxnRequest(ID, *scene.producer, committed=True), 5)
        scene.services.close()
        await scene.settle()
        assert log.log_end_offset == 0

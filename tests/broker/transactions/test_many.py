"""Many transactions, or one with many partitions: whatever becomes of them, others have their turn in between."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from ottla.broker.transactions import markers
from ottla.broker.upkeep import background
from ottla.cluster.topic_names import TRANSACTION_TOPIC
from ottla.coordinator.transactions.states import TransactionState
from ottla.pacing import pace
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.transactions.test_coordination import ID, Transactions, running

STORM = 150
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic


@pytest.fixture(autouse=True)
def suspended_wherever_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task is suspended wherever it may be."""
    monkeypatch.setattr(pace, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)


async def many_open(scene: Transactions, count: int = STORM) -> list[tuple[str, int, int]]:
    """So many transactions, each open in the one partition of orders."""
    producers = []
    for number in range(count):
        name = f"tx-{number}"
        answer = await scene.tell(InitProducerIdRequest(name, 60_000), 4)
        producers.append((name, answer.producer_id, answer.producer_epoch))
        added = AddPartitionsToTxnRequest(None, *producers[-1], [_Topic("orders", [0])])
        answer = await scene.tell(added, 3)
        assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
    return producers


def states(scene: Transactions, node_id: int = 1) -> Counter[str]:
    """How many transactions are in which state."""
    return Counter(t.state.value for t in scene.services.transaction_coordination.of_node[node_id])


class Progress:
    """How many transactions were through in each turn of the loop."""

    def __init__(self, scene: Transactions, state: TransactionState, node_id: int = 1) -> None:
        self.counts = [0]
        self._scene, self._state, self._node_id = scene, state, node_id

    def look(self) -> bool:
        """Called in each turn; says whether nothing is left to do."""
        self.counts.append(states(self._scene, self._node_id)[self._state.value])
        return self._scene.services.is_settled

    @property
    def most_in_a_turn(self) -> int:
        return max(after - before for before, after in zip(self.counts, self.counts[1:], strict=False))


async def test_a_storm_of_timeouts_leaves_others_their_turn() -> None:
    """All are aborted at the same instant, a few in each turn of the loop."""
    async with running() as scene:
        scene.create("orders")
        await many_open(scene)
        progress = Progress(scene, TransactionState.COMPLETE_ABORT)
        await scene.timer.advance(80_000, progress.look)
        assert states(scene) == {"CompleteAbort": STORM}
        assert progress.most_in_a_turn <= 2


async def test_what_was_decided_before_is_carried_out_a_little_at_a_time() -> None:
    """The leader of what they write to is away when they are decided; then the coordinator goes as well."""
    async with running(nodes=3) as scene:
        scene.create("orders")
        scene.lead("orders", 2)
        producers = await many_open(scene)
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        for producer in producers:
            answer = await scene.tell(EndTxnRequest(*producer, committed=True), 4)
            assert answer.error_code == ErrorCode.NONE
        scene.lead("orders", 3)
        scene.lead(TRANSACTION_TOPIC, 3)
        progress = Progress(scene, TransactionState.COMPLETE_COMMIT, node_id=3)
        while not progress.look():  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)
        assert states(scene, 3) == {"CompleteCommit": STORM}
        assert progress.most_in_a_turn <= 2


async def test_markers_that_wait_are_tried_again_a_little_at_a_time() -> None:
    """Thousands may wait for one leader."""
    async with running(nodes=2) as scene:
        scene.create("orders")
        scene.lead("orders", 2)
        producers = await many_open(scene)
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        for producer in producers:
            await scene.tell(EndTxnRequest(*producer, committed=True), 4)
        assert states(scene) == {"PrepareCommit": STORM}
        scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        progress = Progress(scene, TransactionState.COMPLETE_COMMIT)
        await scene.timer.advance(0, progress.look)
        assert states(scene) == {"CompleteCommit": STORM}
        assert progress.most_in_a_turn <= 2


async def test_a_leader_that_comes_while_markers_are_written_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was tried before it came is tried again at once, though no time goes by."""
    monkeypatch.setattr(markers, "_AT_ONCE", 8)
    async with running(nodes=2) as scene:
        scene.create("orders", partitions=40)
        scene.lead("orders", 2)
        await scene.begin()
        await scene.add("orders", *range(40))
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        await scene.tell_at_once(EndTxnRequest(ID, *scene.producer, committed=True), 5)
        (under_way,) = scene.services.transaction_coordination._markers._unfinished.values()
        while len(under_way.missing) > 30:  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)
        assert ("orders", 0) in under_way.missing
        scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        await scene.settle()
        await scene.advance(0)
        assert await scene.state() == ("CompleteCommit", 0)


async def test_many_partitions_of_one_transaction_are_taken_a_few_at_a_time() -> None:
    """To add them, to describe them and to end the transaction each takes many turns of the loop."""
    partitions = 500
    async with running() as scene:
        scene.create("orders", partitions=partitions)
        await scene.begin()
        add = AddPartitionsToTxnRequest(None, ID, *scene.producer, [_Topic("orders", list(range(partitions)))])
        describe = DescribeTransactionsRequest([ID])
        end = EndTxnRequest(ID, *scene.producer, committed=True)
        for request, version in ((add, 3), (describe, 0), (end, 4)):
            call = scene.send(request, version)
            turns = 0
            while call.answered is None:
                await asyncio.sleep(0)
                turns += 1
            assert turns > partitions // 16, type(request).__name__
        await scene.settle()
        assert await scene.state() == ("CompleteCommit", 0)

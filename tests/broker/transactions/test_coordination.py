"""Transactions through a whole cluster without sockets: markers that have to wait, and what clients see meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, cast

import pytest

from ottla.broker.handlers import txn_offset_commit
from ottla.broker.network.call import Call
from ottla.broker.transactions import markers
from ottla.broker.upkeep import background
from ottla.cluster.topic_creation import create_on_demand
from ottla.cluster.topic_names import GROUP_TOPIC, TRANSACTION_TOPIC
from ottla.coordinator.transactions import step
from ottla.coordinator.transactions.coordinator import TransactionCoordinator
from ottla.coordinator.transactions.events import DescribeRequested, MarkersWritten
from ottla.coordinator.transactions.machine import WriteMarkers
from ottla.coordinator.transactions.states import TransactionState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from ottla.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from ottla.protocol.messages.produce import ProduceRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from ottla.protocol.messages.update_features import UpdateFeaturesRequest
from ottla.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from ottla.protocol.primitives import Message
from ottla.purgatory import VirtualClock
from tests.broker.scene import WALL_MS, FakeCall, Scene
from tests.support.batches import batch
from tests.support.client import api_of

ID = "tx"
BACKOFF_MS = 20
GIVES_UP_MS = 100


class Transactions(Scene):
    """Node 1 coordinates everything; the only transactional id is `tx`."""

    def __init__(self, tasks: asyncio.TaskGroup, nodes: int) -> None:
        settings = {
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
            "add.partitions.to.txn.retry.backoff.ms": str(BACKOFF_MS),
            "add.partitions.to.txn.retry.backoff.max.ms": str(GIVES_UP_MS),
        }
        super().__init__(nodes, settings, tasks=tasks, loop=asyncio.get_running_loop())
        for name in (GROUP_TOPIC, TRANSACTION_TOPIC):
            create_on_demand(self.cluster, name)
            self.lead(name, 1)
        self.producer = -1, -1
        self.sequence = 0

    def lead(self, topic: str, node_id: int) -> None:
        """This node leads the topic's first partition, and holds the only replica."""
        self.services.failover.move_leader(self.cluster.topics[topic], 0, self.cluster.all_nodes[node_id])

    async def settle(self) -> None:
        while not self.services.is_settled:  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)

    async def advance(self, by_ms: int) -> None:
        await self.timer.advance(by_ms, lambda: self.services.is_settled)

    def send(self, request: Message, version: int, node_id: int = 1) -> FakeCall:
        call = FakeCall(self.nodes[node_id], version, "PLAINTEXT", "ana", self.authorizer)
        handler = import_module(f"ottla.broker.handlers.{api_of(request).module}")
        arrived = type(request).decode(request.encode(version), version)
        if (answer := handler.handle(arrived, cast(Call, call))) is not None:
            call.answer(answer)
        return call

    async def tell(self, request: Message, version: int, node_id: int = 1) -> Any:
        call = self.send(request, version, node_id)
        await self.settle()
        assert call.answered is not None, "it is parked"
        return call.answered

    async def tell_at_once(self, request: Message, version: int) -> Any:
        """The answer as soon as it is there, with what else is to be done left to do."""
        call = self.send(request, version)
        while call.answered is None:  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)
        return call.answered

    async def begin(self) -> None:
        answer = await self.tell(InitProducerIdRequest(ID, 60_000), 4)
        assert answer.error_code == ErrorCode.NONE
        self.producer = answer.producer_id, answer.producer_epoch

    async def add(self, topic: str, *partitions: int) -> None:
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(topic, list(partitions))]
        answer = await self.tell(AddPartitionsToTxnRequest(None, ID, *self.producer, topics), 3)
        results = answer.results_by_topic_v3_and_below[0].results_by_partition
        assert [result.partition_error_code for result in results] == [0] * len(partitions)

    async def end(self, *, commit: bool = True) -> None:
        """As a client of transaction.version 2 does."""
        answer = await self.tell(EndTxnRequest(ID, *self.producer, commit), 5)
        assert answer.error_code == ErrorCode.NONE
        self.producer = answer.producer_id, answer.producer_epoch
        self.sequence = 0

    def produces(self, topic: str, index: int = 0) -> FakeCall:
        producer_id, epoch = self.producer
        data = batch(
            attributes=0x10, producer_id=producer_id, producer_epoch=epoch, base_sequence=self.sequence,
            base_timestamp=WALL_MS,
        )  # fmt: skip
        partition = ProduceRequest.PartitionProduceData(index, data)
        topics = [ProduceRequest.TopicProduceData(topic, partition_data=[partition])]
        return self.send(ProduceRequest(ID, -1, 5_000, topics), 12)

    async def commit_offset(self, value: int) -> None:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, value)
        topics = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("orders", partitions=[partition])]
        answer = await self.tell(TxnOffsetCommitRequest(ID, "group", *self.producer, topics=topics), 5)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE

    async def committed(self) -> tuple[ErrorCode, int]:
        """What who requires stable offsets is told."""
        topics = [OffsetFetchRequest.OffsetFetchRequestTopic("orders", [0])]
        partition = (await self.tell(OffsetFetchRequest("group", topics, require_stable=True), 7)).topics[0]
        (answer,) = partition.partitions
        return ErrorCode(answer.error_code), answer.committed_offset

    async def state(self) -> tuple[str, int]:
        """The transaction's state, and how many partitions it has."""
        answer = await self.tell(DescribeTransactionsRequest([ID]), 0)
        (described,) = answer.transaction_states
        return described.transaction_state, sum(len(topic.partitions) for topic in described.topics)

    def open_in(self, topic: str) -> list[int]:
        """The partitions in which a transaction is open."""
        logs = self.cluster.topics[topic].partitions
        return [index for index, log in enumerate(logs) if log.last_stable_offset < log.high_watermark]


@asynccontextmanager
async def running(nodes: int = 1) -> AsyncIterator[Transactions]:
    async with asyncio.TaskGroup() as tasks:
        scene = Transactions(tasks, nodes)
        try:
            await scene.settle()
            yield scene
        finally:
            scene.services.close()


def error_of(call: FakeCall) -> ErrorCode | None:
    """What a Produce was answered, if it was."""
    answer: Any = call.answered
    return None if answer is None else ErrorCode(answer.responses[0].partition_responses[0].error_code)


async def test_many_partitions_get_their_markers_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """EndTxn is answered once it is decided; the id is busy until the last marker is written."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(markers, "_AT_ONCE", 8)
    async with running() as scene:
        scene.create("orders", partitions=20)
        await scene.begin()
        for index in range(20):
            call = scene.produces("orders", index)
            await scene.settle()
            assert error_of(call) == ErrorCode.NONE
        assert scene.open_in("orders") == list(range(20))
        ended = await scene.tell_at_once(EndTxnRequest(ID, *scene.producer, committed=True), 5)
        assert ended.error_code == ErrorCode.NONE
        assert len(scene.open_in("orders")) > 10
        busy = await scene.tell_at_once(InitProducerIdRequest(ID, 60_000), 4)
        assert busy.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        await scene.settle()
        assert scene.open_in("orders") == []
        assert await scene.state() == ("CompleteCommit", 0)


async def test_a_transaction_is_over_when_its_end_is_answered() -> None:
    """In the turn of the loop in which its end is asked for, so that no request of its client can come in between."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        call = scene.produces("orders")
        assert (error_of(call), scene.open_in("orders")) == (ErrorCode.NONE, [0])
        ended = scene.send(EndTxnRequest(ID, *scene.producer, committed=True), 5)
        assert ended.answered is not None
        assert scene.open_in("orders") == []
        assert scene.services.is_settled
        assert await scene.state() == ("CompleteCommit", 0)


async def test_a_marker_waits_for_its_leader() -> None:
    async with running(nodes=2) as scene:
        scene.create("orders")
        scene.lead("orders", 2)
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        await scene.end()
        await scene.advance(60_000)
        assert await scene.state() == ("PrepareCommit", 1)
        scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        await scene.advance(1)
        assert await scene.state() == ("CompleteCommit", 0)


async def test_a_marker_that_waits_for_long_is_tried_ever_more_seldom() -> None:
    """Or an hour of a virtual clock would be 36,000 tries. One that is new is not late for it."""
    async with running(nodes=2) as scene:
        scene.create("orders")
        scene.lead("orders", 2)
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        await scene.end()
        fired = scene.timer.fired
        await scene.advance(3_600_000)
        assert scene.timer.fired - fired < 3_000
        writer = scene.services.transaction_coordination._markers
        (waits,) = writer._unfinished.values()
        writer.write(waits.node_id, waits.key, waits.markers)
        assert writer._retry.deadline_ms - scene.timer.now_ms() <= 101


async def test_who_takes_over_writes_the_markers_that_are_missing() -> None:
    """They may all be written while the ids are still being read, and the transaction is complete all the same."""
    async with running(nodes=2) as scene:
        scene.create("orders")
        scene.lead("orders", 2)
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        await scene.end()
        assert await scene.state() == ("PrepareCommit", 1)
        scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        scene.lead(TRANSACTION_TOPIC, 2)
        await scene.settle()
        (transaction,) = scene.services.transaction_coordination.of_node[2]
        assert transaction.state is TransactionState.COMPLETE_COMMIT


async def test_markers_that_were_asked_for_anew_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer's next transaction may be in the same epoch: a second marker would end that."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(markers, "_AT_ONCE", 8)
    async with running() as scene:
        scene.create("orders", partitions=50)
        await scene.begin()
        await scene.add("orders", *range(50))
        await scene.tell_at_once(EndTxnRequest(ID, *scene.producer, committed=True), 4)
        with monkeypatch.context() as patch:
            patch.setitem(step._EVENTS, DescribeRequested, _poison)
            await scene.tell_at_once(DescribeTransactionsRequest([ID]), 0)
        await scene.settle()
        assert scene.log.named("transactions.recovered") == [{"partition": 0}]
        assert scene.cluster.topics["orders"].partitions[49].log_end_offset == 1
        assert await scene.state() == ("CompleteCommit", 0)


async def test_a_deleted_topic_needs_no_marker() -> None:
    async with running(nodes=2) as scene:
        scene.create("orders")
        scene.lead("orders", 2)
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_died(scene.cluster.all_nodes[2])
        await scene.end()
        assert await scene.state() == ("PrepareCommit", 1)
        scene.cluster.delete_topic(scene.cluster.topics["orders"])
        await scene.advance(1)
        assert await scene.state() == ("CompleteCommit", 0)


async def test_a_producer_in_no_group_loads_no_groups() -> None:
    """Its first request would wait for as much code again as transactions have; the first marker for a group asks."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.add("orders", 0)
        await scene.end()
        assert await scene.state() == ("CompleteCommit", 0)
        assert "group_coordination" not in vars(scene.services)


async def test_all_markers_are_told_of_as_they_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the very set, be they more than are written at once: to compare 90,000 partitions with others holds all up."""
    asked: list[WriteMarkers] = []
    told: list[MarkersWritten] = []
    write, written = markers.MarkerWriter.write, TransactionCoordinator.markers_written

    def note_asked(self: markers.MarkerWriter, node_id: int, key: str, wanted: WriteMarkers) -> None:
        asked.append(wanted)
        write(self, node_id, key, wanted)

    def note_told(self: TransactionCoordinator, key: str, event: MarkersWritten) -> None:
        told.append(event)
        written(self, key, event)

    monkeypatch.setattr(markers.MarkerWriter, "write", note_asked)
    monkeypatch.setattr(TransactionCoordinator, "markers_written", note_told)
    async with running() as scene:
        scene.create("orders", 100)
        for partitions in ([0], range(100)):
            await scene.begin()
            await scene.add("orders", *partitions)
            await scene.end()
            assert await scene.state() == ("CompleteCommit", 0)
            assert told[-1].partitions is asked[-1].partitions


async def behind_a_marker_that_waits(scene: Transactions) -> FakeCall:
    """A batch of the next transaction, while the leader of what the one before has written to is away."""
    scene.create("here")
    scene.create("there")
    scene.lead("here", 1)
    scene.lead("there", 2)
    await scene.begin()
    await scene.add("there", 0)
    scene.services.failover.node_died(scene.cluster.all_nodes[2])
    await scene.end()
    return scene.produces("here")


@pytest.mark.parametrize("is_in_time", [True, False])
async def test_a_batch_waits_a_moment_for_the_transaction_before(
    is_in_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition asks again every so often, and tells the producer to do so only when it gives up."""
    async with running(nodes=2) as scene:
        with monkeypatch.context() as patch:
            patch.setattr(VirtualClock, "stands_still", False)
            call = await behind_a_marker_that_waits(scene)
        await scene.advance(2 * BACKOFF_MS)
        assert error_of(call) is None
        if is_in_time:
            scene.services.failover.node_returns(scene.cluster.all_nodes[2])
            await scene.advance(BACKOFF_MS)
            assert error_of(call) == ErrorCode.NONE
            assert await scene.state() == ("Ongoing", 1)
        else:
            await scene.advance(GIVES_UP_MS)
            assert error_of(call) == ErrorCode.CONCURRENT_TRANSACTIONS
            assert scene.open_in("here") == []


@pytest.mark.parametrize("is_in_time", [True, False])
async def test_a_batch_does_not_wait_for_a_clock_that_stands_still(is_in_time: bool) -> None:
    """The broker goes on working, and that is what the batch waits for: for so many turns of the loop."""
    async with running(nodes=2) as scene:
        call = await behind_a_marker_that_waits(scene)
        now_ms = scene.timer.now_ms()
        for _ in range(10):
            await asyncio.sleep(0)
        assert error_of(call) is None
        if is_in_time:
            scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        while error_of(call) is None:  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)
        assert scene.timer.now_ms() == now_ms
        assert error_of(call) == (ErrorCode.NONE if is_in_time else ErrorCode.CONCURRENT_TRANSACTIONS)


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 7), (False, -1)])
async def test_who_writes_markers_from_outside_ends_pending_offsets_too(is_commit: bool, offset: int) -> None:
    """As `kafka-transactions.sh abort` does."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.commit_offset(7)
        assert await scene.committed() == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic(GROUP_TOPIC, [0, 5])
        other = WriteTxnMarkersRequest.WritableTxnMarkerTopic("nowhere", [0])
        marker = WriteTxnMarkersRequest.WritableTxnMarker(*scene.producer, is_commit, [topic, other], 0)
        (result,) = (await scene.tell(WriteTxnMarkersRequest([marker]), 1)).markers
        errors = {
            (topic.name, partition.partition_index): partition.error_code
            for topic in result.topics
            for partition in topic.partitions
        }
        assert errors == {
            (GROUP_TOPIC, 0): ErrorCode.NONE,
            (GROUP_TOPIC, 5): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert await scene.committed() == (ErrorCode.NONE, offset)


@pytest.mark.parametrize("producer", [(-1, 0), (7, -1)])
async def test_nothing_is_written_for_nobody(producer: tuple[int, int]) -> None:
    """Of a partition that is not there Kafka says so before it looks at the producer."""
    async with running() as scene:
        scene.create("orders")
        errors = []
        for name in ("nowhere", "orders"):
            topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, [0])
            marker = WriteTxnMarkersRequest.WritableTxnMarker(*producer, True, [topic], 0)
            (result,) = (await scene.tell(WriteTxnMarkersRequest([marker]), 1)).markers
            errors.append(result.topics[0].partitions[0].error_code)
        assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_SERVER_ERROR]
        assert scene.cluster.topics["orders"].partitions[0].log_end_offset == 0


async def test_a_marker_of_nobody_for_pending_offsets_is_refused_alone() -> None:
    """Kafka's group coordinator answers for its partition, so the other markers of the request are as ever."""
    async with running() as scene:
        scene.create("orders")
        markers = [
            WriteTxnMarkersRequest.WritableTxnMarker(
                producer_id, 0, True, [WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, [0])], 0
            )
            for producer_id, name in ((-1, GROUP_TOPIC), (7, "orders"))
        ]
        results = (await scene.tell(WriteTxnMarkersRequest(markers), 1)).markers
        errors = {result.producer_id: result.topics[0].partitions[0].error_code for result in results}
        assert errors == {-1: ErrorCode.UNKNOWN_SERVER_ERROR, 7: ErrorCode.NONE}
        assert scene.cluster.topics["orders"].partitions[0].log_end_offset == 1


async def test_a_marker_that_names_a_partition_twice_is_written_once() -> None:
    """Kafka writes it once and never answers; here the answer comes."""
    async with running() as scene:
        scene.create("orders")
        topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic("orders", [0])
        marker = WriteTxnMarkersRequest.WritableTxnMarker(7, 0, True, [topic, topic], 0)
        (result,) = (await scene.tell(WriteTxnMarkersRequest([marker]), 1)).markers
        assert [partition.error_code for partition in result.topics[0].partitions] == [ErrorCode.NONE]
        assert scene.cluster.topics["orders"].partitions[0].log_end_offset == 1


async def test_additions_are_shown_as_they_were_asked_for() -> None:
    """Each partition in its place and as often as it stands there, where all are answered alike; of clients none that
    is internal."""
    async with running() as scene:
        scene.create("orders", partitions=2)
        await scene.begin()
        asked = [("orders", [1, 0, 1]), ("orders", [0])]
        assert await _added(scene, 3, *asked) == [
            ("orders", 1, 0),
            ("orders", 0, 0),
            ("orders", 1, 0),
            ("orders", 0, 0),
        ]
        refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert await _added(scene, 3, (GROUP_TOPIC, [0, 9])) == [(GROUP_TOPIC, 0, refused), (GROUP_TOPIC, 9, refused)]
        assert await _added(scene, 4, (GROUP_TOPIC, [0])) == [(GROUP_TOPIC, 0, ErrorCode.NONE)]


async def _added(scene: Transactions, version: int, *asked: tuple[str, list[int]]) -> list[tuple[str, int, int]]:
    """What AddPartitionsToTxn says of each partition, in its order."""
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(*topic) for topic in asked]
    only = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(ID, *scene.producer, topics=topics)
    answer = await scene.tell(AddPartitionsToTxnRequest([only], ID, *scene.producer, topics), version)
    shown = answer.results_by_topic_v3_and_below or answer.results_by_transaction[0].topic_results
    return [
        (topic.name, partition.partition_index, partition.partition_error_code)
        for topic in shown
        for partition in topic.results_by_partition
    ]


async def test_a_long_commit_of_offsets_goes_on_as_the_request_of_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes, and what it may raise, is not the transaction coordinator's."""

    def go_on(call: FakeCall, work: Callable[[], Message | None]) -> None:
        with pytest.raises(ZeroDivisionError):
            work()
        call.answered = TxnOffsetCommitResponse()

    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.add("orders", 0)
        with monkeypatch.context() as patch:
            patch.setattr(FakeCall, "go_on", go_on)
            patch.setattr(txn_offset_commit, "is_too_large", _poison)
            with pytest.raises(IndexError):
                await scene.commit_offset(7)
        assert scene.log.named("transactions.failed") == []
        assert await scene.state() == ("Ongoing", 2)


async def test_a_log_with_too_few_partitions_has_no_coordinator_for_the_others() -> None:
    """An administrator may make it so."""
    async with asyncio.TaskGroup() as tasks:
        scene = Scene(1, tasks=tasks, loop=asyncio.get_running_loop())
        scene.create(TRANSACTION_TOPIC)
        coordination = scene.services.transaction_coordination
        found = {coordination.coordinator_of(f"tx-{number}") for number in range(200)}
        assert found == {None, coordination.of_node[1]}
        scene.services.close()


def _poison(*_: object) -> None:
    raise ZeroDivisionError("on purpose")


async def test_who_does_not_coordinate_an_id_says_so_and_who_is_about_to_as_well() -> None:
    """To every request about it; nothing is taken in."""
    async with running(nodes=2) as scene:
        scene.create("orders")
        await scene.begin()
        scene.lead(TRANSACTION_TOPIC, 2)
        assert await _errors_of_all(scene, node_id=2) == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        listed: Any = scene.send(ListTransactionsRequest(), 1, node_id=2).answered
        assert (listed.error_code, listed.transaction_states) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])
        await scene.settle()
        assert await _errors_of_all(scene, node_id=1) == {ErrorCode.NOT_COORDINATOR}
        scene.lead(TRANSACTION_TOPIC, 1)
        await scene.settle()
        assert await scene.state() == ("Empty", 0)


async def _errors_of_all(scene: Transactions, node_id: int) -> set[int]:
    """What a node answers at once to each kind of request about the id."""
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("orders", [0])]
    only = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(ID, *scene.producer, True, topics)
    answers = [
        scene.send(request, version, node_id).answered
        for request, version in (
            (InitProducerIdRequest(ID, 60_000), 4),
            (AddPartitionsToTxnRequest(None, ID, *scene.producer, topics), 3),
            (AddPartitionsToTxnRequest([only]), 5),
            (AddOffsetsToTxnRequest(ID, *scene.producer, "group"), 3),
            (EndTxnRequest(ID, *scene.producer, True), 4),
            (EndTxnRequest(ID, *scene.producer, True), 5),
            (DescribeTransactionsRequest([ID]), 0),
        )
    ]
    return set(map(_only_error, answers))


def _only_error(answer: Any) -> int:
    match answer:
        case AddPartitionsToTxnResponse():
            topics = answer.results_by_topic_v3_and_below or answer.results_by_transaction[0].topic_results
            return topics[0].results_by_partition[0].partition_error_code
        case DescribeTransactionsResponse():
            return answer.transaction_states[0].error_code
    return cast(int, answer.error_code)


async def test_after_a_bug_the_ids_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked is told UNKNOWN_SERVER_ERROR, the log has the rest, and a transaction goes on."""
    async with running() as scene:
        scene.create("orders")
        await scene.begin()
        await scene.add("orders", 0)
        with monkeypatch.context() as patch:
            patch.setitem(step._EVENTS, DescribeRequested, _poison)
            answer = await scene.tell_at_once(DescribeTransactionsRequest([ID]), 0)
        (state,) = answer.transaction_states
        assert state.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        await scene.advance(1)
        (failed,) = scene.log.named("transactions.failed")
        assert (failed["partition"], failed["reason"]) == (0, "ZeroDivisionError: on purpose")
        assert scene.log.named("transactions.recovered") == [{"partition": 0}]
        assert await scene.state() == ("Ongoing", 1)
        await scene.end()
        assert await scene.state() == ("CompleteCommit", 0)


async def test_the_coordinator_follows_the_level_of_the_feature() -> None:
    """After UpdateFeatures has lowered it, new transactions are of the older kind, without a restart."""
    async with running() as scene:
        (coordinator,) = scene.services.transaction_coordination.of_node.values()
        assert coordinator.config.transaction_version == 2
        update = UpdateFeaturesRequest.FeatureUpdateKey("transaction.version", 1, upgrade_type=2)
        answer = await scene.tell(UpdateFeaturesRequest(1000, [update]), 2)
        assert answer.error_code == ErrorCode.NONE
        assert coordinator.config.transaction_version == 1


async def test_a_marker_waits_for_enough_replicas_in_sync() -> None:
    """When they are there it is written at once, though no other node leads, and no time goes by."""
    async with running(nodes=2) as scene:
        topic = scene.create("orders", replicas=2, min_insync_replicas="2")
        scene.services.failover.reassign(topic, {0: [1, 2]})
        scene.services.failover.reassign(scene.cluster.topics[TRANSACTION_TOPIC], {0: [1]})
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_leaves(scene.cluster.all_nodes[2])
        await scene.end()
        assert await scene.state() == ("PrepareCommit", 1)
        scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        await scene.advance(0)
        assert await scene.state() == ("CompleteCommit", 0)


async def test_a_marker_waits_until_fewer_have_to_be_in_sync() -> None:
    async with running(nodes=2) as scene:
        topic = scene.create("orders", replicas=2, min_insync_replicas="2")
        scene.services.failover.reassign(scene.cluster.topics[TRANSACTION_TOPIC], {0: [1]})
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_leaves(scene.cluster.all_nodes[2])
        await scene.end()
        assert await scene.state() == ("PrepareCommit", 1)
        topic.change_configs({"min.insync.replicas": "1"})
        await scene.advance(0)
        assert await scene.state() == ("CompleteCommit", 0)


async def test_that_it_is_complete_is_written_as_soon_as_enough_are_in_sync() -> None:
    """The log of the coordinator has too few when the last marker is written."""
    async with running(nodes=3) as scene:
        scene.create("orders")
        scene.lead("orders", 3)
        log = scene.cluster.topics[TRANSACTION_TOPIC]
        scene.services.failover.reassign(log, {0: [1, 2]})
        await scene.begin()
        await scene.add("orders", 0)
        scene.services.failover.node_died(scene.cluster.all_nodes[3])
        await scene.end()
        assert await scene.state() == ("PrepareCommit", 1)
        log.change_configs({**log.configs, "min.insync.replicas": "2"})
        scene.services.failover.node_leaves(scene.cluster.all_nodes[2])
        scene.services.failover.node_returns(scene.cluster.all_nodes[3])
        await scene.advance(0)
        assert await scene.state() == ("PrepareCommit", 0)
        scene.services.failover.node_returns(scene.cluster.all_nodes[2])
        await scene.advance(0)
        assert await scene.state() == ("CompleteCommit", 0)

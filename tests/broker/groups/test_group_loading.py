"""Groups read back from __consumer_offsets: when a node takes over a partition, and what its clients see meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ottla.broker.upkeep import background
from ottla.cluster.topic_creation import create_on_demand
from ottla.cluster.topic_names import GROUP_TOPIC
from ottla.coordinator.classic.events import Event
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.records import offset_record, offset_tombstone
from ottla.coordinator.runtime.records import Record
from ottla.events.kind import Kind
from ottla.log.job import Job
from ottla.log.partition import Partition
from ottla.log.transaction_marker import TransactionMarker
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.record_building import build_batch
from tests.broker.scene import WALL_MS, Scene
from tests.coordinator.actors import Actor, classic, fetches
from tests.coordinator.node import Answered
from tests.support.told import Told

COMMIT = TransactionMarker(is_commit=True, coordinator_epoch=0)
ABORT = TransactionMarker(is_commit=False, coordinator_epoch=0)


class GroupScene(Scene):
    """Nodes 1 to n on a real event loop, with one partition of __consumer_offsets, which node 1 leads."""

    def __init__(self, tasks: asyncio.TaskGroup, nodes: int) -> None:
        settings = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
        super().__init__(nodes, settings, tasks=tasks, loop=asyncio.get_running_loop())
        create_on_demand(self.cluster, GROUP_TOPIC)
        self.coordination = self.services.group_coordination

    @property
    def group_log(self) -> Partition:
        return self.cluster.topics[GROUP_TOPIC].partitions[0]

    def coordinator(self, node_id: int = 1) -> Coordinator:
        return self.coordination.of_node[node_id]

    def submit(self, line: Callable[[], Event], group_id: str = "group", node_id: int = 1) -> asyncio.Future[Any]:
        event: Any = line()
        event.token = Answered()
        self.coordinator(node_id).submit(group_id, event)
        return event.token.future  # type: ignore[no-any-return]

    def write(self, records: Sequence[Record], **fields: Any) -> None:
        """Append to the group log what somebody else wrote there."""
        assert not self.group_log.append_internal(build_batch(records, timestamp_ms=WALL_MS, **fields), WALL_MS).error

    async def load(self, node_id: int = 1) -> None:
        self.coordination.take_over(self.group_log, node_id)
        await self.settle()

    async def settle(self) -> None:
        """Let the background do all it has to."""
        while not self.services.is_settled:  # noqa: ASYNC110 (turn by turn, as the loop goes)
            await asyncio.sleep(0)

    async def is_busy(self) -> bool:
        """Whether the background has still something to do after another turn of the loop."""
        await asyncio.sleep(0)
        return not self.services.is_settled

    async def committed(self, partition: int = 0, group_id: str = "group", node_id: int = 1) -> int:
        """What is committed for a partition of `orders`."""
        response = await self.submit(lambda: fetches(("orders", partition)), group_id, node_id)
        assert response.error_code == ErrorCode.NONE
        return response.topics[0].partitions[0].committed_offset  # type: ignore[no-any-return]


@asynccontextmanager
async def running_scene(nodes: int = 1) -> AsyncIterator[GroupScene]:
    async with asyncio.TaskGroup() as tasks:
        scene = GroupScene(tasks, nodes)
        try:
            yield scene
        finally:
            scene.services.close()
    assert scene.timer.size == 0


def offset(value: int, partition: int = 0, group_id: str = "group") -> Record:
    return offset_record(group_id, "orders", partition, CommittedOffset(value, -1, "", WALL_MS))


async def make_stable(scene: GroupScene, actor: Actor) -> None:
    """A group of one."""
    actor.version = 3
    joined = await scene.submit(actor.joins())
    actor.member_id, actor.generation_id = joined.member_id, joined.generation_id
    assert (await scene.submit(actor.syncs({actor: b"orders-0"}))).assignment == b"orders-0"


async def test_a_group_goes_on_in_its_generation_on_the_node_that_takes_it_over() -> None:
    """F4: whoever was away for less than its session finds its place, with its assignment and offsets."""
    async with running_scene(nodes=2) as scene:
        ana = Actor("ana")
        await make_stable(scene, ana)
        assert (await scene.submit(ana.commits({("orders", 0): 7}))).topics[0].partitions[0].error_code == 0
        scene.coordination.resign(0, node_id=1)
        await scene.load(node_id=2)
        assert (await scene.submit(ana.beats(), node_id=1)).error_code == ErrorCode.NOT_COORDINATOR
        assert (await scene.submit(ana.beats(), node_id=2)).error_code == ErrorCode.NONE
        assert (await scene.submit(ana.syncs(), node_id=2)).assignment == b"orders-0"
        assert await scene.committed(node_id=2) == 7
        loaded = {"partition": 0, "groups": 1, "duration_ms": 0}
        assert scene.log.named("group_log.loaded") == [loaded]


async def test_who_waits_at_the_old_coordinator_is_sent_to_the_new_one() -> None:
    """A parked JoinGroup and a parked SyncGroup are answered NOT_COORDINATOR, with the member id they came with."""
    async with running_scene(nodes=2) as scene:
        ana, bo = Actor("ana"), Actor("bo")
        await make_stable(scene, ana)
        bo.version = 3
        waiting = scene.submit(bo.joins())
        await scene.settle()
        assert not waiting.done()
        scene.coordination.resign(0, node_id=1)
        assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR


async def test_clients_are_told_to_wait_while_the_log_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slice by slice, with requests in between; heartbeats are told that all is well."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    async with running_scene() as scene:
        scene.write([offset(number) for number in range(100)])
        scene.coordination.take_over(scene.group_log, 1)
        turns = 0
        fetched = await scene.submit(lambda: fetches(("orders", 0)))
        while fetched.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            assert not scene.services.is_settled
            listed = scene.coordinator().list_groups(ListGroupsRequest())
            assert listed.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert (await scene.submit(Actor("ana").beats())).error_code == ErrorCode.NONE
            await asyncio.sleep(0)
            turns += 1
            fetched = await scene.submit(lambda: fetches(("orders", 0)))
        assert turns > 5
        assert await scene.committed() == 99


async def test_a_partition_that_moves_on_while_it_is_read_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node that resigned half way has nothing of it; the next one has all, however many were asked meanwhile."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    async with running_scene(nodes=2) as scene:
        scene.write([offset(number) for number in range(100)])
        scene.coordination.take_over(scene.group_log, 1)
        for _ in range(3):
            await asyncio.sleep(0)
        scene.coordination.resign(0, 1)
        scene.coordination.take_over(scene.group_log, 2)
        scene.coordination.take_over(scene.group_log, 2)
        await scene.settle()
        assert scene.coordinator(1).groups == []
        assert len(scene.log.named("group_log.loaded")) == 1
        assert await scene.committed(node_id=2) == 99


async def test_a_group_that_moves_on_before_it_is_read_anew_is_let_go() -> None:
    """Its partition was unloaded while others were read: nobody asks for it here any more, and nobody is told."""
    async with running_scene() as scene:
        scene.write([offset(7)])
        told: list[Exception | None] = []
        scene.coordination._loading.recover(scene.coordinator().runtime, scene.group_log, "group", told.append)
        await scene.settle()
        assert told == []
        assert scene.log.named("job.failed") == []


async def test_a_broker_that_stops_while_it_reads_just_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """No task is left, as `running_scene` sees."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    async with running_scene() as scene:
        scene.write([offset(number) for number in range(100)])
        scene.coordination.take_over(scene.group_log, 1)
        assert await scene.is_busy()


async def test_offsets_of_a_transaction_count_once_it_is_committed() -> None:
    """Those of one that was aborted, or never ended, don't; what was written later without one stays."""
    async with running_scene() as scene:
        scene.group_log.producers._settings.transaction_partition_verification_enable = False
        for producer_id in (1, 2, 3):
            records = [offset(10 * producer_id + partition, partition) for partition in range(producer_id)]
            scene.write(records, producer_id=producer_id, producer_epoch=0, is_transactional=True)
        scene.write([offset(99, 1), offset_tombstone("group", "orders", 7)])
        scene.group_log.append_marker(ABORT, 1, 0, 1, WALL_MS)
        scene.group_log.append_marker(COMMIT, 2, 0, 1, WALL_MS)
        await scene.load()
        assert [await scene.committed(partition) for partition in range(3)] == [20, 99, -1]


async def test_the_later_of_two_transactional_commits_counts() -> None:
    """By their places in the log, whichever ended first; and a tombstone takes what is pending."""
    async with running_scene() as scene:
        scene.group_log.producers._settings.transaction_partition_verification_enable = False
        transactional: dict[str, Any] = {"producer_epoch": 0, "is_transactional": True}
        scene.write([offset(1), offset(1, partition=1)], producer_id=1, **transactional)
        scene.write([offset(2), offset(2, partition=2)], producer_id=2, **transactional)
        scene.write([offset_tombstone("group", "orders", 2)])
        scene.group_log.append_marker(COMMIT, 2, 0, 1, WALL_MS)
        scene.group_log.append_marker(COMMIT, 1, 0, 1, WALL_MS)
        await scene.load()
        assert [await scene.committed(partition) for partition in range(3)] == [2, 1, -1]


async def test_offsets_of_an_open_transaction_are_held_back_after_a_load() -> None:
    """Stable offsets are UNSTABLE_OFFSET_COMMIT until the marker is read; others see what counted before."""
    async with running_scene() as scene:
        scene.group_log.producers._settings.transaction_partition_verification_enable = False
        scene.write([offset(3)])
        scene.write([offset(5)], producer_id=1, producer_epoch=0, is_transactional=True)
        await scene.load()
        stable = await scene.submit(lambda: fetches(("orders", 0), require_stable=True))
        assert committed_error(stable) == ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert await scene.committed() == 3
        scene.group_log.append_marker(COMMIT, 1, 0, 1, WALL_MS)
        await scene.load()
        stable = await scene.submit(lambda: fetches(("orders", 0), require_stable=True))
        assert (committed_error(stable), await scene.committed()) == (ErrorCode.NONE, 5)


@pytest.mark.parametrize("codec", CompressionType)
async def test_compressed_batches_are_read(codec: CompressionType) -> None:
    """A tool may have written them."""
    async with running_scene() as scene:
        scene.write([offset(7), offset(8, partition=1)], compression=codec)
        await scene.load()
        assert [await scene.committed(partition) for partition in range(2)] == [7, 8]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ((b"\x00\x01\x00", b""), "can't be read"),
        ((b"\x00", b""), "too few for its type"),
        ((None, b""), "no key"),
    ],
)
async def test_a_partition_that_cannot_be_read_is_refused(record: Any, reason: str) -> None:
    """The log says why; once it is mended it can be loaded again."""
    async with running_scene() as scene:
        scene.write([offset(7)])
        scene.write([record])
        await scene.load()
        fetched = await scene.submit(lambda: fetches(("orders", 0)))
        assert fetched.error_code == ErrorCode.NOT_COORDINATOR
        (failed,) = scene.log.named("group_log.load.failed")
        assert failed["partition"] == 0
        assert reason in failed["reason"]


async def test_records_of_other_kinds_of_groups_are_passed_over() -> None:
    """With a line in the log that says how many of which type."""
    async with running_scene() as scene:
        scene.write([offset(7), (b"\x00\x03\x00\x01g", b""), (b"\x00\x03\x00\x01h", b"")])
        await scene.load()
        assert await scene.committed() == 7
        ignored = {"partition": 0, "record_type": 3, "records": 2}
        assert scene.log.named("group_log.records.ignored") == [ignored]


async def test_what_lies_before_the_start_of_the_log_is_not_read() -> None:
    """But for what shares a batch with the first record."""
    async with running_scene() as scene:
        for number in range(3):
            scene.write([offset(number, partition=number)])
        scene.group_log._move_log_start(1)
        await scene.load()
        assert [await scene.committed(partition) for partition in range(3)] == [-1, 1, 2]


def test_a_job_is_done_in_slices() -> None:
    """Each turn of the loop gives one job its slice; two jobs take turns, and others theirs in between."""
    done: list[str] = []

    def job(name: str) -> Job:
        for _ in range(3):
            done.append(name)
            yield

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            both = background.Background(tasks, Told())
            both.start(job("a"), "a")
            both.start(job("b"), "b")
            while not both.is_settled:
                await asyncio.sleep(0)
                done.append("turn")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "SLICE_SECONDS", 0.0)
        asyncio.run(run())
    assert done[:7] == ["a", "turn", "b", "turn", "a", "turn", "b"]
    assert (done.count("a"), done.count("b")) == (3, 3)


async def test_a_full_disk_leaves_the_group_as_it_was() -> None:
    """What can't be written has not happened: the error is Kafka's, the old offset counts, also for who reads the log.

    The generation that could not be written is not given out; once there is room again the group goes on.
    """
    async with running_scene(nodes=2) as scene:
        ana = Actor("ana")
        await make_stable(scene, ana)
        assert committed_error(await scene.submit(ana.commits({("orders", 0): 7}))) == ErrorCode.NONE
        account = scene.cluster.logs.bytes
        bytes_max, account.bytes_max = account.bytes_max, account.bytes_held
        assert committed_error(await scene.submit(ana.commits({("orders", 0): 8}))) == ErrorCode.NOT_COORDINATOR
        assert await scene.committed() == 7
        joined = await scene.submit(ana.joins())
        ana.generation_id = joined.generation_id
        synced = await scene.submit(ana.syncs({ana: b"orders-1"}))
        assert (synced.error_code, synced.assignment) == (ErrorCode.NOT_COORDINATOR, b"")
        account.bytes_max = bytes_max
        scene.coordination.resign(0, node_id=1)
        await scene.load(node_id=2)
        assert await scene.committed(node_id=2) == 7
        group = classic(*scene.coordinator(2).groups)
        assert (group.generation_id, group.members[ana.member_id].assignment) == (1, b"orders-0")


def committed_error(response: Any) -> int:
    return response.topics[0].partitions[0].error_code  # type: ignore[no-any-return]


async def test_who_wants_to_know_that_groups_are_loaded_is_told_once() -> None:
    """When the log has been read, and not again when another node reads it."""
    async with running_scene(nodes=2) as scene:
        await scene.settle()
        told: list[int] = []
        scene.events.read(lambda _event: told.append(len(scene.coordinator(2).groups)), [Kind.GROUPS_LOADED])
        scene.write([offset(7)])
        scene.coordination.resign(0, 1)
        await scene.load(node_id=2)
        assert told == [1]
        scene.coordination.resign(0, 2)
        await scene.load(node_id=1)
        assert told == [1]

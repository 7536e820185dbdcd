"""A long request of a group is handled in slices, and the group stays its own while one is half done."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from ottla.coordinator.offsets import commit as offset_commit
from ottla.coordinator.offsets.events import (
    DeleteRequested,
    OffsetCommitRequested,
    OffsetDeleteRequested,
    OffsetFetchRequested,
)
from ottla.coordinator.offsets.records import offset_record
from ottla.coordinator.runtime.events import TopicChange
from ottla.pacing import ANSWER_ELEMENTS_MAX, Pace, charge_elements
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_commit import OffsetCommitRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.coordinator.node import Node, running_node

MANY = 100


class Turns:
    """A pace that suspends a task wherever it may, and resumes it when it is told."""

    def __init__(self) -> None:
        self.taken = 0
        self._soon: deque[Callable[[], None]] = deque()
        ticks = count()
        self.pace = Pace(self._soon.append, lambda: float(next(ticks)))

    def take_one(self) -> None:
        self.taken += 1
        for _ in range(len(self._soon)):
            self._soon.popleft()()

    async def take_all(self) -> None:
        while not self.pace.is_settled:
            self.take_one()
            await asyncio.sleep(0)


def commit(offset: int, partitions: int = MANY) -> Any:
    listed = [OffsetCommitRequest.OffsetCommitRequestPartition(index, offset) for index in range(partitions)]
    topic = OffsetCommitRequest.OffsetCommitRequestTopic("orders", partitions=listed)
    return OffsetCommitRequested(None, OffsetCommitRequest("group", topics=[topic]), 8)  # type: ignore[arg-type]


def fetch(partitions: int | None = MANY) -> Any:
    topic = OffsetFetchRequest.OffsetFetchRequestTopics("orders", partition_indexes=list(range(partitions or 0)))
    topics = None if partitions is None else [topic]
    return OffsetFetchRequested(None, OffsetFetchRequest.OffsetFetchRequestGroup("group", topics=topics), 8)  # type: ignore[arg-type]


def delete() -> Any:
    listed = [OffsetDeleteRequest.OffsetDeleteRequestPartition(index) for index in range(MANY)]
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic("orders", listed)
    return OffsetDeleteRequested(None, OffsetDeleteRequest("group", [topic]))  # type: ignore[arg-type]


def offsets(answer: Any) -> list[int]:
    return [partition.committed_offset for topic in answer.topics for partition in topic.partitions]


async def begin(node: Node, event: Any) -> asyncio.Future[Any]:
    """Ask something long of a group, and let it be taken up."""
    answer = node.ask(lambda: event, is_long=True)
    await asyncio.sleep(0)
    return answer


@pytest.mark.parametrize(
    "event",
    [commit(2), fetch(), fetch(None), delete(), DeleteRequested(None)],  # type: ignore[arg-type]
    ids=["OffsetCommit", "OffsetFetch", "OffsetFetch of all", "OffsetDelete", "DeleteGroups"],
)
async def test_others_have_their_turn(event: Any) -> None:
    """Of what is done with each partition, some at a time; a request behind it waits for all of it."""
    turns = Turns()
    async with running_node(pace=turns.pace) as node:
        await node.ask(lambda: commit(1))
        answer = await begin(node, event)
        behind = node.ask(fetch)
        await asyncio.sleep(0)
        assert not answer.done()
        assert not node.coordinator.is_settled
        turns.take_one()
        await asyncio.sleep(0)
        assert not behind.done()
        await turns.take_all()
        assert turns.taken > MANY // 16
        assert answer.done()
        assert len(offsets(await behind)) == MANY


async def test_a_step_has_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one client's request may cost is not held against the machine, which serves many."""

    def costly(*named: Any) -> Any:
        charge_elements(ANSWER_ELEMENTS_MAX)
        return offset_record(*named)

    monkeypatch.setattr(offset_commit, "offset_record", costly)
    turns = Turns()
    async with running_node(pace=turns.pace) as node:
        answer = await begin(node, commit(1))
        await turns.take_all()
        assert {partition.error_code for partition in answer.result().topics[0].partitions} == {ErrorCode.NONE}


async def test_a_short_one_is_done_at_once() -> None:
    turns = Turns()
    async with running_node(pace=turns.pace) as node:
        answer = await begin(node, commit(1, partitions=3))
        assert answer.done()
        assert node.coordinator.is_settled


async def test_a_group_that_has_to_go_is_finished_first() -> None:
    """What was half done is in the log, and is answered."""
    turns = Turns()
    async with running_node(pace=turns.pace) as node:
        await node.ask(lambda: commit(1))
        answer = await begin(node, commit(2))
        behind = node.ask(fetch)
        node.coordinator.runtime.unload(node.group_partition)
        assert turns.pace.is_settled
        assert {partition.error_code for partition in (await answer).topics[0].partitions} == {ErrorCode.NONE}
        assert offsets(await behind) == [2] * MANY
        assert [len(batch) for batch in node.log.batches[node.group_partition]] == [MANY, MANY]
        assert node.coordinator.groups == []


async def test_a_group_that_has_to_go_within_the_work_on_another_request() -> None:
    """Which goes on when that is finished, and is not suspended within."""
    turns = Turns()
    async with running_node(pace=turns.pace) as node:
        await node.ask(lambda: commit(1))
        answer = await begin(node, commit(2))
        node.ask(lambda: commit(3), group_id="other")
        seen: list[bool] = []

        def work() -> None:
            for partition in range(node.coordinator.config.offsets_topic_num_partitions):
                node.coordinator.runtime.unload(partition)
            seen.append(answer.done())

        turns.pace.run(work)
        assert seen == [True]
        assert turns.pace.is_settled
        assert node.coordinator.groups == []


async def test_an_event_for_all_groups_waits_behind_what_is_half_done() -> None:
    turns = Turns()
    async with running_node(pace=turns.pace) as node:
        await node.ask(lambda: commit(1))
        answer = await begin(node, commit(2))
        node.coordinator.runtime.topic_changed(TopicChange.DELETED, "orders", bytes(16))
        assert not answer.done()
        await turns.take_all()
        assert (await answer).topics[0].partitions[0].error_code == ErrorCode.NONE
        assert node.coordinator.groups[0].offsets.places == []

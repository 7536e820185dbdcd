"""A coordinator on a real event loop, under a clock that stands still, with a log in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ottla.coordinator.classic.events import Event
from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.coordinator import Coordinator
from ottla.coordinator.notes import Note
from ottla.coordinator.runtime.effects import Writer
from ottla.coordinator.runtime.records import Record
from ottla.coordinator.runtime.runtime import exhaust
from ottla.events.kinds.groups import NOTED
from ottla.pacing import Pace
from ottla.protocol.errors import ErrorCode
from ottla.purgatory import Purgatory, Timer, VirtualClock

WALL_MS = 1_767_225_600_000
"""The date when the clock is at its start."""
START_MS = 5_000_000


class Answered:
    """A token that can be awaited."""

    def __init__(self) -> None:
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.answers = 0

    def answer(self, response: Any, /) -> None:
        self.answers += 1
        assert self.answers == 1, "answered twice"
        self.future.set_result(response)


class MemoryLog:
    """The partitions of __consumer_offsets; `error` is what the next appends come to."""

    def __init__(self) -> None:
        self.batches: defaultdict[int, list[list[Record]]] = defaultdict(list)
        self.error = ErrorCode.NONE
        self.records_max: int | None = None
        """More in a batch is too large."""

    def append(self, partition: int, records: Sequence[Record], /) -> ErrorCode:
        assert records, "an empty batch"
        if self.records_max is not None and len(records) > self.records_max:
            return ErrorCode.MESSAGE_TOO_LARGE
        if self.error is ErrorCode.NONE:
            self.batches[partition].append(list(records))
        return self.error

    def append_in_transaction(self, partition: int, records: Sequence[Record], _writer: Writer, /) -> ErrorCode:
        return self.append(partition, records)

    def records(self, partition: int) -> list[Record]:
        return [record for batch in self.batches[partition] for record in batch]


class Notes:
    """Reads every note."""

    wanted = frozenset(NOTED)

    def __init__(self, notes: list[tuple[str, int, Note]]) -> None:
        self._notes = notes

    def __call__(self, group_id: str, timestamp_ms: int, note: Note, /) -> None:
        self._notes.append((group_id, timestamp_ms, note))


class Node:
    """One coordinator and what it works with."""

    def __init__(
        self, tasks: asyncio.TaskGroup, config: GroupConfig, log: MemoryLog | None, pace: Pace | None = None
    ) -> None:
        self.clock = VirtualClock(START_MS, WALL_MS)
        self.timer = Timer(self.clock, loop=asyncio.get_running_loop())
        self.log = log or MemoryLog()
        self.notes: list[tuple[str, int, Note]] = []
        self.coordinator = Coordinator(config, self.log, self.timer, tasks, Notes(self.notes), pace=pace)

    def load(self, partition: int) -> None:
        loading = self.coordinator.runtime.start_loading(partition)
        loading.shard.replay_all(self.log.records(partition))
        exhaust(self.coordinator.runtime.finish_loading(partition, loading))

    def ask(self, line: Callable[[], Event], group_id: str = "group", *, is_long: bool = False) -> asyncio.Future[Any]:
        """Send a request to a group; the future is its answer."""
        event: Any = line()
        event.token = Answered()
        self.coordinator.submit(group_id, event, is_long=is_long)
        return event.token.future  # type: ignore[no-any-return]

    async def advance(self, by_ms: int) -> None:
        await self.timer.advance(by_ms, lambda: self.coordinator.is_settled)

    @property
    def group_partition(self) -> int:
        return self.coordinator.partition_of("group")

    @property
    def heartbeats(self) -> Purgatory[Any]:
        return self.coordinator.runtime.purgatories["Heartbeat"]

    @property
    def rebalances(self) -> Purgatory[Any]:
        return self.coordinator.runtime.purgatories["Rebalance"]

    @property
    def tasks(self) -> set[str]:
        return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("group ")}


@asynccontextmanager
async def running_node(
    *, log: MemoryLog | None = None, is_loaded: bool = True, pace: Pace | None = None, **settings: int
) -> AsyncIterator[Node]:
    """A node with all partitions loaded; afterwards no task and no timer may be left."""
    async with asyncio.TaskGroup() as tasks:
        node = Node(tasks, GroupConfig(**settings), log, pace)
        if is_loaded:
            for partition in range(node.coordinator.config.offsets_topic_num_partitions):
                node.load(partition)
        try:
            yield node
        finally:
            node.coordinator.close()
    assert node.tasks == set()
    assert node.timer.size == 0
    assert not any(purgatory.watched for purgatory in node.coordinator.runtime.purgatories.values())

"""Toy machines on a real event loop, on a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ottla.coordinator.runtime.effects import Token
from ottla.coordinator.runtime.runtime import Runtime, exhaust
from ottla.purgatory import Timer, VirtualClock
from tests.coordinator.node import START_MS, WALL_MS, Answered, MemoryLog
from tests.coordinator.runtime.roster import ROSTER, MixedShard
from tests.coordinator.runtime.toy import TALLY, AddRequested, Tally


class Tallies:
    """All tallies and rosters of one partition, on a timer that others may use too."""

    def __init__(self, tasks: asyncio.TaskGroup, timer: Timer, log: MemoryLog, *, may_fail: bool = False) -> None:
        self.log = log
        self.timer = timer
        self.notices: list[tuple[str, int, Any]] = []
        self.failed: list[str] = []
        self.refused: list[tuple[str, Any]] = []
        self.resubmitted: list[tuple[str, Any]] = []
        self.runtime: Runtime[Any] = Runtime(
            MixedShard,
            log,
            timer,
            tasks,
            resubmit=lambda key, event: self.resubmitted.append((key, event)),
            refuse=lambda key, item: self.refused.append((key, item)),
            purgatories=("Idle", "Rolls"),
            notices=lambda key, timestamp_ms, notice: self.notices.append((key, timestamp_ms, notice)),
            kinds=(TALLY, ROSTER),
            failed=(lambda key, _error: self.failed.append(key)) if may_fail else None,
        )

    def load(self) -> None:
        loading = self.runtime.start_loading(0)
        loading.shard.replay_all(self.log.records(0))
        exhaust(self.runtime.finish_loading(0, loading))

    def add(self, name: str, amount: int) -> asyncio.Future[Any]:
        token = Answered()
        owner = self.runtime.owners.get(name) or self.runtime.bring_in(name, Tally(name), 0)
        owner.post(AddRequested(token, amount))
        return token.future

    def ask(self, key: str, request: Callable[[Token], Any]) -> asyncio.Future[Any]:
        """Send a request to a machine that is there."""
        token = Answered()
        self.runtime.owners[key].post(request(token))
        return token.future

    @property
    def totals(self) -> dict[str, int]:
        return {name: o.machine.total for name, o in self.runtime.owners.items() if isinstance(o.machine, Tally)}


@asynccontextmanager
async def running_tallies(log: MemoryLog | None = None, *, may_fail: bool = False) -> AsyncIterator[Tallies]:
    """Tallies on a clock that stands still; afterwards no task and no timer may be left."""
    timer = Timer(VirtualClock(START_MS, WALL_MS), loop=asyncio.get_running_loop())
    async with asyncio.TaskGroup() as tasks:
        tallies = Tallies(tasks, timer, log or MemoryLog(), may_fail=may_fail)
        tallies.load()
        try:
            yield tallies
        finally:
            tallies.runtime.close()
    assert timer.size == 0

"""The log cleaner at work: driven by the clock, a little in each turn of the loop, beside the traffic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ottla.broker.upkeep import background
from ottla.events.setbacks import BACKOFF_MS_MAX
from ottla.log.partition import Partition
from ottla.log.storage.contract import StorageError
from ottla.log.storage.memory import MemoryReplacement
from tests.broker.scene import WALL_MS, Scene, keep_house
from tests.log.partitions import HOUR_MS, batch_of, fill, read_all, sized_batch
from tests.support.batches import batch

BACKOFF_MS = 15_000


class CleanerScene(Scene):
    """A cluster on a real event loop whose housekeeping runs."""

    def __init__(self, tasks: asyncio.TaskGroup, settings: dict[str, str]) -> None:
        super().__init__(settings=settings, tasks=tasks, loop=asyncio.get_running_loop())
        keep_house(self)

    def compacted(self, name: str = "prices", **configs: str) -> Partition:
        return self.create(name, 1, 1, **{"cleanup_policy": "compact", **configs}).partitions[0]

    async def advance(self, ms: int) -> None:
        await self.timer.advance(ms, settled=lambda: self.services.is_settled)


@asynccontextmanager
async def running_scene(**settings: str) -> AsyncIterator[CleanerScene]:
    async with asyncio.TaskGroup() as tasks:
        scene = CleanerScene(tasks, {name.replace("_", "."): value for name, value in settings.items()})
        try:
            yield scene
        finally:
            scene.services.close()
            scene.timer.close()


def dirty(log: Partition, rounds: int = 3) -> None:
    """Write the same keys some times, and close the segment."""
    for number in range(rounds):
        fill(log, batch([(b"a", b"%d" % number), (b"b", b"%d" % number)]), wall_ms=WALL_MS)
    log._roll(WALL_MS)


def values(log: Partition) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in read_all(log)}


async def test_dirty_logs_are_cleaned_with_each_round() -> None:
    """Every log.cleaner.backoff.ms, the dirtiest first, until none is dirty enough."""
    async with running_scene() as scene:
        prices, users, plain = scene.compacted(), scene.compacted("users"), scene.create("plain").partitions[0]
        for log in (prices, users, plain):
            dirty(log)
        fill(users, batch_of(1))
        await scene.advance(BACKOFF_MS - 1)
        assert len(read_all(prices)) == 6
        await scene.advance(1)
        assert (len(read_all(prices)), len(read_all(users)), len(read_all(plain))) == (2, 3, 6)
        cleaned = scene.log.named("log.cleaned")
        assert [(event["topic"], event["first_offset"], event["end_offset"]) for event in cleaned] == [
            ("prices", 0, 6),
            ("users", 0, 6),
        ]
        assert cleaned[0]["bytes_after"] < cleaned[0]["bytes_before"]
        dirty(prices)
        await scene.advance(BACKOFF_MS)
        assert len(read_all(prices)) == 2
        assert values(prices) == {b"a": b"2", b"b": b"2"}
        await scene.advance(BACKOFF_MS)
        assert len(scene.log.named("log.cleaned")) == 3


async def test_the_cleaner_can_be_turned_off() -> None:
    """log.cleaner.enable=false: nothing is armed for it."""
    async with running_scene(log_cleaner_enable="false") as scene:
        prices = scene.compacted()
        dirty(prices)
        assert scene.timer.size == 2
        await scene.advance(HOUR_MS)
        assert len(read_all(prices)) == 6


async def test_its_interval_is_a_setting() -> None:
    """So that a test need not wait for a quarter of a minute."""
    async with running_scene(log_cleaner_backoff_ms="100") as scene:
        prices = scene.compacted()
        dirty(prices)
        await scene.advance(100)
        assert len(read_all(prices)) == 2


async def test_its_thresholds_are_settings_of_the_broker_too() -> None:
    """A topic that says nothing goes by log.cleaner.min.cleanable.ratio."""
    async with running_scene(log_cleaner_min_cleanable_ratio="1") as scene:
        prices, eager = scene.compacted(), scene.compacted("eager", min_cleanable_dirty_ratio="0.1")
        for log in (prices, eager):
            dirty(log)
        await scene.advance(BACKOFF_MS)
        assert (len(read_all(prices)), len(read_all(eager))) == (6, 2)


async def test_compact_and_delete_does_both() -> None:
    """Old segments go with the cleaner's rounds; those of compacted logs that are not to be deleted stay for ever."""
    async with running_scene() as scene:
        both = scene.compacted(cleanup_policy="compact,delete", retention_ms="60000")
        only = scene.compacted("only", retention_ms="60000")
        for log in (both, only):
            dirty(log)
        await scene.advance(BACKOFF_MS)
        assert (len(read_all(both)), len(read_all(only))) == (2, 2)
        await scene.advance(60_000)
        assert (both.log_start_offset, only.log_start_offset) == (6, 0)


async def test_others_have_their_turn_while_a_log_is_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appends and fetches in between see a log that is whole; what they append is not touched."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    async with running_scene() as scene:
        prices = scene.compacted(min_cleanable_dirty_ratio="0")
        for _ in range(10):
            dirty(prices)
        advancing = asyncio.create_task(scene.advance(BACKOFF_MS))
        turns = 0
        while not advancing.done():
            await asyncio.sleep(0)
            turns += 1
            assert values(prices)[b"b"] == b"2"
            fill(prices, batch([(b"a", b"%d" % turns)]))
            assert read_all(prices)[-1].value == b"%d" % turns
        assert turns > 50
        assert len([record for record in read_all(prices) if record.offset < 60]) == 2


async def test_a_log_that_cannot_be_read_is_cleaned_no_more() -> None:
    """The others are; one line says which it is."""
    async with running_scene() as scene:
        broken, prices = scene.compacted("broken"), scene.compacted()
        broken._storage.append(batch([(b"a", b"1")], payload=b"\xff" * 9), 0, WALL_MS, WALL_MS)
        broken.log_end_offset = broken.high_watermark = broken.last_stable_offset = 1
        broken._roll(WALL_MS)
        dirty(prices)
        await scene.advance(3 * BACKOFF_MS)
        (failed,) = scene.log.named("log.cleaning.failed")
        assert (failed["topic"], failed["partition"]) == ("broken", 0)
        assert len(read_all(prices)) == 2


async def test_a_log_that_cannot_be_written_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk was full: what there was stays, and later rounds find it dirty still. It is told once, not each time."""
    async with running_scene() as scene:
        prices = scene.compacted()
        dirty(prices)

        tries = 0

        def fails(*_arguments: object) -> None:
            nonlocal tries
            tries += 1
            raise StorageError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(MemoryReplacement, "append", fails)
            await scene.advance(40 * BACKOFF_MS)
        assert len(read_all(prices)) == 6
        assert 5 < tries < 20
        assert scene.log.named("log.cleaning.stopped") == [
            {"topic": "prices", "partition": 0, "reason": "no space left"}
        ]
        await scene.advance(BACKOFF_MS_MAX + BACKOFF_MS)
        assert len(read_all(prices)) == 2


async def test_a_topic_deleted_while_it_is_cleaned_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the cleaner goes on with the next."""
    monkeypatch.setattr(background, "SLICE_SECONDS", 0.0)
    async with running_scene() as scene:
        doomed, prices = scene.compacted("doomed"), scene.compacted()
        dirty(doomed, rounds=9)
        dirty(prices)
        advancing = asyncio.create_task(scene.advance(BACKOFF_MS))
        for _ in range(8):
            await asyncio.sleep(0)
        assert not scene.services.is_settled
        scene.cluster.delete_topic(scene.cluster.topics["doomed"])
        await advancing
        assert len(read_all(prices)) == 2
        assert [event["topic"] for event in scene.log.named("log.cleaned")] == ["prices"]
        assert doomed.is_closed


async def test_a_full_account_gets_its_bytes_back() -> None:
    """What compaction saves others may use."""
    async with running_scene() as scene:
        prices = scene.compacted()
        fill(prices, *(sized_batch(10_000) for _ in range(10)))
        prices._roll(WALL_MS)
        held = scene.cluster.logs.bytes.bytes_held
        await scene.advance(BACKOFF_MS)
        assert scene.cluster.logs.bytes.bytes_held < held - 80_000

"""A second kind of machine, in a second internal topic: the runtime drives it, and nothing of groups is touched."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ottla.coordinator.config import GroupConfig
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.records import offset_record
from ottla.coordinator.runtime.events import TimerExpired, Unloaded
from ottla.coordinator.runtime.runtime import PartitionState
from ottla.protocol.errors import ErrorCode
from tests.coordinator.actors import Actor
from tests.coordinator.node import WALL_MS, Answered, MemoryLog, running_node
from tests.coordinator.runtime.test_owner import make_stable
from tests.coordinator.runtime.toy import Added, AddRequested, TallyShard, tally_record
from tests.coordinator.runtime.toy_node import Tallies, running_tallies


async def test_requests_are_answered_once_they_are_written() -> None:
    """Those that follow one another share a batch, as its kind says; each is told of, with the date."""
    async with running_tallies() as tallies:
        answers = [tallies.add("a", amount) for amount in (1, 2)]
        answers.append(tallies.add("b", 7))
        assert [await answer for answer in answers] == [(0, 1), (0, 3), (0, 7)]
        assert [len(batch) for batch in tallies.log.batches[0]] == [2, 1]
        assert tallies.notices[-1] == ("b", WALL_MS, Added(7))


async def test_who_sleeps_takes_up_at_once_what_has_nothing_before_it() -> None:
    """What was put into its inbox goes first; and it goes on sleeping afterwards, to be woken as before."""
    async with running_tallies() as tallies:
        first = tallies.add("a", 1)
        owner = tallies.runtime.owners["a"]
        second, third = Answered(), Answered()
        owner.take(AddRequested(second, 2))
        assert not second.future.done()
        assert await first == (0, 1)
        assert await second.future == (0, 3)
        owner.take(AddRequested(third, 3))
        assert third.future.result() == (0, 6)
        assert await tallies.add("a", 4) == (0, 10)


async def test_what_an_answer_leads_to_waits_until_that_is_dealt_with() -> None:
    """Whoever has it take up what waits, nobody else does so in the middle of it."""
    async with running_tallies() as tallies:
        await tallies.add("a", 1)
        owner = tallies.runtime.owners["a"]
        last = Answered()

        class AsksAgain:
            def answer(self, _response: Any, /) -> None:
                owner.take(AddRequested(last, 3))
                assert not last.future.done()

        await asyncio.sleep(0)  # the task sleeps again
        owner.inbox.append(AddRequested(AsksAgain(), 2))
        owner.drain()
        assert await last.future == (0, 6)
        await asyncio.sleep(0)
        assert [notice.total for _, _, notice in tallies.notices] == [1, 3, 6]


async def test_who_ends_by_what_it_takes_up_at_once_is_gone() -> None:
    """Its task, too: `running_tallies` waits for it."""
    async with running_tallies() as tallies:
        await tallies.add("a", 1)
        tallies.runtime.owners["a"].take(Unloaded())
        assert tallies.totals == {}


async def test_a_write_that_fails_is_heard_of() -> None:
    """And nothing has changed."""
    async with running_tallies() as tallies:
        tallies.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await tallies.add("a", 1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 0)


async def test_it_comes_back_from_its_own_records() -> None:
    """A tombstone takes it away; records of types that its shard doesn't know are counted and passed over."""
    log = MemoryLog()
    offset = offset_record("group", "orders", 0, CommittedOffset(7, -1, "", WALL_MS))
    log.append(0, [tally_record("a", 3), tally_record("b", 4), offset, tally_record("a", 5), tally_record("b", None)])
    async with running_tallies(log) as tallies:
        assert tallies.totals == {"a": 5}
        assert await tallies.add("a", 1) == (0, 6)
        assert tallies.runtime.owners["a"].shard.unknown_types == {1: 1}


@pytest.mark.parametrize(("is_commit", "total"), [(True, 9), (False, 5)])
async def test_what_spans_machines_is_the_shards(is_commit: bool, total: int) -> None:
    """A transaction's records count when its marker says so."""
    shard = TallyShard(0)
    shard.replay_all([tally_record("a", 5)])
    shard.replay(*tally_record("a", 9), producer_id=1)
    shard.end_transaction(1, is_commit=is_commit)
    assert shard.machines["a"].total == total


async def test_its_timers_wait_in_its_purgatory() -> None:
    """An idle tally ends by its own doing: a tombstone, no task, no timer; the next one starts from nothing."""
    async with running_tallies() as tallies:
        await tallies.add("a", 1)
        assert tallies.runtime.purgatories["Idle"].watched_keys == [("a", "idle")]
        await tallies.timer.advance(4_999, lambda: tallies.runtime.is_settled)
        await tallies.add("a", 1)
        await tallies.timer.advance(4_999, lambda: tallies.runtime.is_settled)
        assert tallies.totals == {"a": 2}
        await tallies.timer.advance(1, lambda: tallies.runtime.is_settled)
        assert tallies.totals == {}
        assert tallies.log.records(0)[-1] == tally_record("a", None)
        assert await tallies.add("a", 1) == (0, 1)


async def test_what_comes_after_the_end_is_given_back() -> None:
    """A request that was still to come when its machine ended goes to the caller, for the next machine."""
    async with running_tallies() as tallies:
        await tallies.add("a", 1)
        owner = tallies.runtime.owners["a"]
        owner.post(TimerExpired("idle"))
        owner.post(late := AddRequested(Answered(), 1))
        owner.drain()
        assert owner.is_ended
        assert tallies.resubmitted == [("a", late)]


async def test_a_bug_ends_one_machine_alone() -> None:
    """It is read anew from its log, alone, while the others go on; the request that did it is refused."""
    async with running_tallies(may_fail=True) as tallies:
        await tallies.add("a", 1)
        await tallies.add("b", 1)
        tallies.add("a", -1)
        assert await tallies.add("b", 1) == (0, 2)
        assert (tallies.failed, tallies.totals) == (["a"], {"b": 2})
        assert [(key, item.amount) for key, item in tallies.refused] == [("a", -1)]
        assert tallies.runtime.is_given_up("a")
        shard = tallies.runtime.start_recovery("a")
        shard.replay_all(tallies.log.records(0))
        assert shard.machines.keys() == {"a"}
        tallies.runtime.finish_recovery("a", shard)
        assert (tallies.totals, tallies.runtime.is_given_up("a")) == ({"b": 2, "a": 1}, False)
        assert await tallies.add("a", 1) == (0, 2)


async def test_a_machine_that_was_given_up_moves_with_its_partition() -> None:
    """Another node reads it, or this one with all others."""
    async with running_tallies(may_fail=True) as tallies:
        await tallies.add("a", 1)
        tallies.add("a", -1)
        await tallies.add("b", 1)
        tallies.load()
        assert (tallies.totals, tallies.runtime.is_given_up("a")) == ({"a": 1, "b": 1}, False)


async def test_two_topics_on_one_node(ana: Actor) -> None:
    """Groups and tallies on the same loop and timer: each has its tasks, its log, its partitions."""
    async with running_node() as node, asyncio.TaskGroup() as tasks:
        tallies = Tallies(tasks, node.timer, MemoryLog())
        tallies.load()
        await tallies.add("group", 1)
        await make_stable(node, ana)
        assert (tallies.totals, [group.group_id for group in node.coordinator.groups]) == ({}, ["group"])
        tallies.runtime.close()
        assert tallies.runtime.state_of(0) is None
        assert node.coordinator.runtime.state_of(0) is PartitionState.ACTIVE
        assert (await node.ask(ana.beats())).error_code == ErrorCode.NONE


async def test_the_group_shard_passes_over_tallies() -> None:
    """As over all records of kinds that it doesn't know."""
    shard = GroupShard(0, GroupConfig(), WALL_MS)
    shard.replay_all([tally_record("a", 1)])
    assert (shard.machines, shard.unknown_types) == ({}, {40: 1})


async def test_a_partition_that_moves_on_half_way_leaves_nothing() -> None:
    """Machines come to life one with each step; those that live by then end."""
    async with running_tallies() as tallies:
        loading = tallies.runtime.start_loading(1)
        loading.shard.replay_all([tally_record("a", 1), tally_record("b", 2)])
        next(tallies.runtime.finish_loading(1, loading))
        assert list(loading.owners) == ["a"]
        tallies.runtime.unload(1)
        assert loading.owners["a"].is_ended
        assert tallies.totals == {}

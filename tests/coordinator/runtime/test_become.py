"""A machine becomes another in place: its key, inbox and task are kept; its step, timers and shared batches are not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ottla.coordinator.runtime.events import TimerExpired
from ottla.coordinator.runtime.records import Record
from ottla.protocol.errors import ErrorCode
from tests.coordinator.node import Answered
from tests.coordinator.runtime.roster import Heard, PutRequested, Roster, roster_record
from tests.coordinator.runtime.roster import Put as Listed
from tests.coordinator.runtime.toy import IDLE_MS, AddRequested, Tally, TurnRequested, tally_record
from tests.coordinator.runtime.toy_node import Tallies, running_tallies

#: That tally "t" is roster "t" from now on, with one name.
TURN: list[Record] = [tally_record("t", None), roster_record("t", Listed("ana", 1))]
#: And back.
TURN_BACK: list[Record] = [roster_record("t", Listed("ana", 1)), tally_record("t", 1)]


def new_roster() -> Roster:
    return Roster("t", {"ana": 1})


def turn(toys: Tallies, machine: Any, records: list[Record]) -> asyncio.Future[Any]:
    return toys.ask("t", lambda token: TurnRequested(token, machine, records))


async def test_what_waits_behind_it_is_for_the_new_machine() -> None:
    """One turn of the loop, one inbox: the tally takes what came before, the roster what came after."""
    async with running_tallies() as toys:
        owner = toys.runtime.bring_in("t", Tally("t"), 0)
        before = toys.add("t", 5)
        turned = turn(toys, roster := new_roster(), TURN)
        after = toys.add("t", 7)
        put = toys.ask("t", lambda token: PutRequested(token, ("bo",)))
        assert await before == (0, 5)
        assert await turned == (0, "turned")
        assert await after == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, 7)
        assert await put == (0, ["ana", "bo"])
        assert toys.runtime.owners["t"] is owner
        assert (owner.machine, owner.kind.name) == (roster, "roster")
        assert owner.shard.machines["t"] is roster


async def test_a_request_that_ends_a_shared_batch_may_find_another_machine() -> None:
    """Amounts share a batch; the request after them has it written, and the last amount turned the tally."""
    async with running_tallies() as toys:
        owner = toys.runtime.bring_in("t", Tally("t", successor=new_roster()), 0)
        amounts = [toys.add("t", 1), toys.add("t", 2)]
        put = toys.ask("t", lambda token: PutRequested(token, ("bo",)))
        assert [await amount for amount in amounts] == [(0, 1), (0, 3)], "the tally hears of all that it has written"
        assert await put == (0, ["ana", "bo"])
        assert isinstance(owner.machine, Roster)


async def test_the_former_timers_are_stopped_and_the_new_ones_wait_in_their_own_purgatory() -> None:
    async with running_tallies() as toys:
        toys.runtime.bring_in("t", Tally("t"), 0)
        await toys.add("t", 5)
        idle, rolls = toys.runtime.purgatories["Idle"], toys.runtime.purgatories["Rolls"]
        assert (idle.watched_keys, rolls.watched_keys) == ([("t", "idle")], [])
        await toys.timer.advance(1_000, lambda: toys.runtime.is_settled)
        await turn(toys, new_roster(), TURN)
        assert (idle.watched_keys, rolls.watched_keys) == ([], [("t", "roll call")])
        toys.notices.clear()
        await toys.timer.advance(IDLE_MS - 1, lambda: toys.runtime.is_settled)
        assert toys.notices == []
        await toys.timer.advance(1, lambda: toys.runtime.is_settled)
        assert [notice for _, _, notice in toys.notices] == [Heard(TimerExpired("roll call"))]


@pytest.mark.parametrize("is_armed_anew", [False, True])
async def test_a_timer_that_has_run_out_by_then_is_void(is_armed_anew: bool) -> None:
    """It is in the inbox already, behind the request that turns its machine: the new one does not hear of it."""
    async with running_tallies() as toys:
        owner = toys.runtime.bring_in("t", Tally("t"), 0)
        await toys.add("t", 5)
        await asyncio.sleep(0)
        if is_armed_anew:
            toys.add("t", 1)
        turned = turn(toys, new_roster(), TURN)
        clock: Any = toys.timer.clock
        clock.move_to(clock.now_ms() + IDLE_MS)
        assert toys.timer.fire_due() == 1
        assert [type(item).__name__ for item in owner.inbox][-2:] == ["TurnRequested", "MachineTimer"]
        assert await turned == (0, "turned")
        assert isinstance(owner.machine, Roster)
        assert toys.runtime.purgatories["Idle"].watched == 0


async def test_what_cant_be_written_leaves_the_former_machine() -> None:
    """With its timers."""
    async with running_tallies() as toys:
        owner = toys.runtime.bring_in("t", tally := Tally("t"), 0)
        await toys.add("t", 5)
        toys.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await turn(toys, new_roster(), TURN) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, "turned")
        assert owner.machine is owner.shard.machines["t"] is tally
        assert toys.runtime.purgatories["Idle"].watched_keys == [("t", "idle")]
        toys.log.error = ErrorCode.NONE
        assert await toys.add("t", 1) == (0, 6)


async def test_a_roster_that_turns_into_a_tally_shares_batches_from_then_on() -> None:
    """And the other way round, as often as it likes."""
    async with running_tallies() as toys:
        owner = toys.runtime.bring_in("t", new_roster(), 0)
        for _ in range(2):
            await turn(toys, Tally("t", 1, 1), TURN_BACK)
            assert owner.kind.name == "tally"
            toys.log.batches[0].clear()
            assert [await amount for amount in [toys.add("t", 1), toys.add("t", 2)]] == [(0, 2), (0, 4)]
            assert [len(batch) for batch in toys.log.batches[0]] == [2]
            await turn(toys, new_roster(), TURN)
            assert owner.kind.name == "roster"


async def test_the_new_machine_is_read_back_and_ends_with_its_partition() -> None:
    """Another node finds what it has become."""
    async with running_tallies() as toys:
        toys.runtime.bring_in("t", Tally("t"), 0)
        await toys.add("t", 5)
        await turn(toys, new_roster(), TURN)
        toys.load()
        machine = toys.runtime.owners["t"].machine
        assert isinstance(machine, Roster)
        assert machine.names == {"ana": 1}


async def test_a_machine_that_ends_once_it_has_turned_gives_back_what_came_too_late() -> None:
    """As any other does."""
    async with running_tallies() as toys:
        owner = toys.runtime.bring_in("t", new_roster(), 0)
        turned = turn(toys, Tally("t"), TURN_BACK)
        owner.post(TimerExpired("idle"))
        owner.post(late := AddRequested(Answered(), 1))
        owner.drain()
        assert turned.done()
        assert owner.is_ended
        assert toys.resubmitted == [("t", late)]
        assert toys.runtime.owners == {}

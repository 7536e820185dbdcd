"""One function applies a record, live and when it is read back: what lives is what the log says, at every moment."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.runtime.holding import AppendHeld
from ottla.coordinator.runtime.log import Log
from ottla.protocol.errors import ErrorCode
from tests.coordinator.node import MemoryLog
from tests.coordinator.runtime.roster import MixedShard, PutRequested, Roster, StrikeRequested, roster_record
from tests.coordinator.runtime.roster import Put as Listed
from tests.coordinator.runtime.toy_node import Tallies, running_tallies

NAMES = st.sampled_from(["ana", "bo", "cy"])
#: What is asked, and how the log answers it.
ASKED = st.one_of(
    st.builds(lambda names: lambda token: PutRequested(token, tuple(names)), st.lists(NAMES, min_size=1, max_size=3)),
    st.builds(lambda name: lambda token: StrikeRequested(token, name), NAMES),
)
ERRORS = st.sampled_from([ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER])


def names(toys: Tallies) -> dict[str, int]:
    roster = toys.runtime.owners["r"].machine
    assert isinstance(roster, Roster)
    return roster.names


def read_back(log: MemoryLog) -> dict[str, int]:
    shard = MixedShard(0)
    shard.replay_all(log.records(0))
    machines: dict[str, Any] = shard.machines
    return machines["r"].names if "r" in machines else {}


@given(st.lists(st.tuples(ASKED, ERRORS), max_size=12))
def test_what_lives_is_what_is_read_back_after_each_step(script: list[tuple[Any, ErrorCode]]) -> None:
    """Whatever is asked, and whether or not the log takes it."""

    async def play() -> None:
        async with running_tallies() as toys:
            toys.runtime.bring_in("r", Roster("r"), 0)
            for request, error in script:
                before = dict(names(toys))
                toys.log.error = error
                answered = await toys.ask("r", request)
                assert answered == (error, sorted(names(toys)))
                assert names(toys) == read_back(toys.log)
                assert error is ErrorCode.NONE or names(toys) == before, "a failed append changes nothing"

    asyncio.run(play())


async def test_changes_are_applied_before_the_machine_hears_that_they_are_written() -> None:
    """So its answer tells of them."""
    async with running_tallies() as toys:
        toys.runtime.bring_in("r", Roster("r"), 0)
        assert await toys.ask("r", lambda token: PutRequested(token, ("bo", "ana"))) == (0, ["ana", "bo"])
        assert await toys.ask("r", lambda token: PutRequested(token, ("bo",))) == (0, ["ana", "bo"])
        assert names(toys) == {"bo": 2, "ana": 1}


async def test_nothing_changes_while_the_append_is_held() -> None:
    """When it is let go the changes are applied; what was asked meanwhile finds them."""
    async with running_tallies() as toys:
        toys.runtime.bring_in("r", Roster("r"), 0)
        held: list[AppendHeld] = []

        class HoldsFirst:
            """Holds the first append, for good unless it is told to go on."""

            def append(self, partition: int, records: Any) -> ErrorCode:
                if not held:
                    held.append(AppendHeld(lambda: held[0].go_on(toys.log)))
                    raise held[0]
                return toys.log.append(partition, records)

            append_in_transaction = MemoryLog.append_in_transaction

        toys.runtime.put_around_log(lambda _log: HoldsFirst())
        answers = [toys.ask("r", lambda token: PutRequested(token, ("ana",))) for _ in range(2)]
        await asyncio.sleep(0)
        assert (names(toys), len(held)) == ({}, 1)
        real: Log = toys.log
        held[0].go_on(real)
        assert [await answer for answer in answers] == [(0, ["ana"])] * 2
        assert names(toys) == read_back(toys.log) == {"ana": 2}


async def test_a_roster_that_has_met_a_bug_comes_back_with_what_was_written() -> None:
    """`replay` has failed in the middle of a batch: the log is right, and is read anew."""
    async with running_tallies(may_fail=True) as toys:
        toys.runtime.bring_in("r", Roster("r"), 0)
        await toys.ask("r", lambda token: PutRequested(token, ("ana",)))
        names(toys).clear()
        toys.runtime.owners["r"].machine.names = None
        toys.ask("r", lambda token: StrikeRequested(token, "ana"))
        await asyncio.sleep(0)
        assert (toys.failed, toys.runtime.is_given_up("r")) == (["r"], True)
        shard = toys.runtime.start_recovery("r")
        shard.replay_all([*toys.log.records(0), roster_record("r", Listed("bo", 1))])
        assert toys.runtime.finish_recovery("r", shard)
        assert names(toys) == {"bo": 1}

"""Machines are told of topics that are created, grow and go: those that want to know, of what they want to know."""

from __future__ import annotations

from collections.abc import Iterator

from ottla.coordinator.runtime.events import TopicChange, TopicsChanged
from ottla.coordinator.runtime.runtime import exhaust
from tests.coordinator.runtime.roster import Heard, Roster
from tests.coordinator.runtime.toy import Tally
from tests.coordinator.runtime.toy_node import Tallies, running_tallies

CREATED, GROWN, DELETED = TopicChange


def heard(toys: Tallies) -> list[tuple[str, TopicsChanged]]:
    return [(key, notice.what) for key, _, notice in toys.notices if isinstance(notice, Heard)]


async def test_only_kinds_that_want_to_know_are_told() -> None:
    """A tally would fail if it were told; nor is it woken."""
    async with running_tallies() as toys:
        toys.runtime.bring_in("r", Roster("r"), 0)
        toys.runtime.bring_in("t", Tally("t"), 0)
        toys.runtime.topic_changed(CREATED, "orders", b"1")
        toys.runtime.topic_changed(GROWN, "orders", b"1")
        assert heard(toys) == [
            ("r", TopicsChanged(created={"orders": b"1"})),
            ("r", TopicsChanged(grown={"orders": b"1"})),
        ]


async def test_what_no_kind_wants_to_know_walks_over_no_machines() -> None:
    async with running_tallies() as toys:
        toys.runtime.bring_in("r", Roster("r"), 0)
        walks: list[Iterator[None]] = []
        toys.runtime._topics._start = walks.append
        assert toys.runtime.topic_changes == {CREATED, GROWN}
        toys.runtime.topic_changed(DELETED, "orders", b"1")
        assert walks == []


async def test_all_that_changes_before_the_walk_is_one_event() -> None:
    """However many topics there are; what changes during the walk is the next one's."""
    async with running_tallies() as toys:
        for key in ("r", "s"):
            toys.runtime.bring_in(key, Roster(key), 0)
        walks: list[Iterator[None]] = []
        toys.runtime._topics._start = walks.append
        for change, name in ((CREATED, "orders"), (CREATED, "payments"), (GROWN, "orders")):
            toys.runtime.topic_changed(change, name, b"1")
        assert len(walks) == 1
        next(walks[0])
        toys.runtime.topic_changed(CREATED, "refunds", b"1")
        assert len(walks) == 2
        for walk in walks:
            exhaust(walk)
        first = TopicsChanged({"orders": b"1", "payments": b"1"}, {"orders": b"1"})
        second = TopicsChanged({"refunds": b"1"})
        assert heard(toys) == [("r", first), ("s", first), ("r", second), ("s", second)]


async def test_a_name_that_is_taken_again_before_the_walk_is_told_with_both_ids() -> None:
    """In two events, for one has one id for each name."""
    async with running_tallies() as toys:
        toys.runtime.bring_in("r", Roster("r"), 0)
        walks: list[Iterator[None]] = []
        toys.runtime._topics._start = walks.append
        for topic_id in (b"1", b"2"):
            toys.runtime.topic_changed(CREATED, "orders", topic_id)
        for walk in walks:
            exhaust(walk)
        assert heard(toys) == [("r", TopicsChanged({"orders": b"1"})), ("r", TopicsChanged({"orders": b"2"}))]


async def test_a_machine_that_ends_during_the_walk_is_not_told() -> None:
    async with running_tallies() as toys:
        for key in ("r", "s"):
            toys.runtime.bring_in(key, Roster(key), 0)
        walks: list[Iterator[None]] = []
        toys.runtime._topics._start = walks.append
        toys.runtime.topic_changed(CREATED, "orders", b"1")
        next(walks[0])
        toys.runtime.unload(0)
        exhaust(walks[0])
        assert [key for key, _ in heard(toys)] == ["r"]

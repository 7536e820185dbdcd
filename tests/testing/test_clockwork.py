"""The virtual clock in a test's hands, with real consumers behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla.control.changes import virtual_time
from ottla.testing import Broker, NotInTime
from ottla.testing.groups import Group
from tests.testing.consuming import consuming

#: It beats once a minute of real time: nobody keeps it alive here.
SILENT = {"session.timeout.ms": 45_000, "heartbeat.interval.ms": 40_000, "fetch.wait.max.ms": 500}


DAY_MS = 86_400_000


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(clock="virtual") as broker:
        broker.topic("orders").create(partitions=1)
        yield broker


@contextmanager
def silent_member(kafka: Broker) -> Iterator[Group]:
    """A member that beats no more: a consumer of librdkafka's does so when it has its assignment, be it soon or later,
    and then only after its interval.
    """
    kitchen, first_beat = kafka.group("kitchen"), kafka.hold("Heartbeat", group="kitchen")
    with consuming(kafka.bootstrap_servers, "kitchen", "orders", settings=SILENT):
        with first_beat:
            first_beat.wait()
        kitchen.wait_for_assignment()
        yield kitchen


def test_a_session_of_45_s_ends_at_once(kafka: Broker) -> None:
    """Not a millisecond before, and a real consumer is told and comes back."""
    with silent_member(kafka) as kitchen:
        (member,) = kitchen.members
        kafka.advance(44_999)
        assert [one.member_id for one in kitchen.members] == [member.member_id]
        kafka.advance(1)
        assert kitchen.state == "Empty"
        kitchen.assert_rebalances(because="session_expired", member=member.member_id)


def test_heartbeat_that_comes_while_time_moves_keeps_no_session_alive(kafka: Broker) -> None:
    """It is of after the move, however many deadlines there are on the way."""
    kitchen = kafka.group("kitchen")
    restless = {"session.timeout.ms": 45_000, "heartbeat.interval.ms": 1, "fetch.wait.max.ms": 500}
    with consuming(kafka.bootstrap_servers, "kitchen", "orders", settings=restless):
        (member,) = kitchen.wait_for_assignment().members
        kafka.advance(45_000)
        kitchen.assert_rebalances(because="session_expired", member=member.member_id)


def test_a_year_passes_without_the_rounds_that_would_find_nothing(kafka: Broker) -> None:
    """The cleaner alone would come two million times. What is due comes: the offset expires after its seven days."""
    kafka.topic("orders").produce("soup")
    kitchen = kafka.group("kitchen")
    kitchen.commit("orders", 0, 1)
    kafka.advance(6 * DAY_MS)
    assert kitchen.committed == {("orders", 0): 1}
    kafka.advance(2 * DAY_MS)
    assert kitchen.committed == {}
    kafka.advance(357 * DAY_MS)
    assert kafka.topic("orders").records() == []  # retention.ms
    assert kafka.look(lambda broker: broker.server.timer.fired) < 1_000


def test_a_move_that_takes_too_long_stops_says_how_far_it_came_and_serves(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time stands where it came to, and the next move goes on from there."""
    with silent_member(kafka) as kitchen:
        monkeypatch.setattr(virtual_time, "MOVE_SECONDS_MAX", -1.0)
        with pytest.raises(NotInTime, match=r"^moved time by [0-9]+ of 45000 ms in -1 s, and stopped there: too much"):
            kafka.advance(45_000)
        monkeypatch.undo()
        assert len(kitchen.members) == 1
        kafka.advance(45_000)
        assert kitchen.state == "Empty"


def test_time_goes_on_until_something_is_so(kafka: Broker) -> None:
    """From deadline to deadline, and no further; a condition that is true moves nothing."""
    with silent_member(kafka) as kitchen:
        assert kafka.advance_until(lambda: kitchen.state == "Stable", limit_ms=60_000) == 0
        assert kafka.advance_until(lambda: kitchen.state == "Empty", limit_ms=60_000) == 45_000


def never() -> bool:
    return False


def test_time_does_not_go_further_than_its_limit(kafka: Broker) -> None:
    """The error says what was waited for, and what would have come next."""
    began_ms = kafka.look(lambda broker: broker.server.clock.now_ms())
    with pytest.raises(NotInTime, match=r"by 1500 ms in vain for never; next: round .* in \d+ ms"):
        kafka.advance_until(never, limit_ms=1_500)
    assert kafka.look(lambda broker: broker.server.clock.now_ms()) == began_ms + 1_500


def test_deadlines_say_what_they_are(kafka: Broker) -> None:
    """A member's session, its fetch, the broker's own rounds; in order, and those that are asked for."""
    with silent_member(kafka) as kitchen:
        (member,) = kitchen.members
        session = kafka.next_deadline(kind="session", group="kitchen")
        assert session is not None
        assert (session.in_ms, session.group_id, session.member_id) == (45_000, "kitchen", member.member_id)
        assert str(session) == f"session of {member.member_id} of kitchen in 45000 ms"
        kafka.advance(5_000)
        moved = kafka.next_deadline(kind="session", group="kitchen")
        assert moved is not None
        assert (moved.in_ms, moved.at_ms) == (40_000, session.at_ms)
        instants = [deadline.at_ms for deadline in kafka.deadlines()]
        assert instants == sorted(instants)
        kinds = {deadline.kind for deadline in kafka.deadlines()}
        assert {"session", "round"} <= kinds <= {"session", "round", "fetch"}
        assert kafka.next_deadline(group="office") is None


def test_a_rebalance_waits_until_its_deadline(kafka: Broker) -> None:
    """Its first phase is a deadline like any other."""
    with (
        Broker(clock="virtual", settings={"group.initial.rebalance.delay.ms": 3_000}) as slow,
        consuming(slow.bootstrap_servers, "kitchen", "orders", settings=SILENT),
    ):
        slow.topic("orders").create(partitions=1)
        slow.group("kitchen").wait_for(state="PreparingRebalance", members=1)
        join = slow.next_deadline(kind="join")
        assert join is not None
        assert re.fullmatch(r"join of kitchen in 3000 ms", str(join))


def test_time_goes_by_itself_where_every_client_waits() -> None:
    """The first rebalance takes its 3 s of the broker's, and nobody moves the clock; with nobody there it stands."""
    with Broker(clock="auto", autojump_threshold_ms=10, settings={"group.initial.rebalance.delay.ms": 3_000}) as auto:
        auto.topic("orders").create(partitions=1)
        began_ms = auto.look(lambda broker: broker.server.clock.now_ms())
        with consuming(auto.bootstrap_servers, "kitchen", "orders", settings=SILENT):
            auto.group("kitchen").wait_for_assignment()
            assert auto.look(lambda broker: broker.server.clock.now_ms()) >= began_ms + 3_000
        assert auto.timeline.of("time.advanced")


def test_time_stands_still_where_nobody_waits() -> None:
    """Rounds of the broker's own are no reason to move it."""
    with Broker(clock="auto", autojump_threshold_ms=1) as auto:
        began_ms = auto.look(lambda broker: broker.server.clock.now_ms())
        for _ in range(50):
            auto.topic("orders").create()
            auto.topic("orders").delete()
        assert auto.look(lambda broker: broker.server.clock.now_ms()) == began_ms


def test_time_that_is_the_machines_cannot_be_moved() -> None:
    """Which is said in a user's words, with what to write instead."""
    with Broker() as kafka, pytest.raises(RuntimeError, match=re.escape('make it with clock="virtual"')):
        kafka.advance(1)

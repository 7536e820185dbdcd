"""What happened, as a test reads it: a table, a list to choose from, and assertions that show it when they fail."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter_ns

import pytest

from ottla.control.state.sentences import sentence, shortened
from ottla.control.state.timeline import History, Timeline
from ottla.events.kind import KINDS, Kind
from ottla.events.kinds.event_kind import EventKind
from ottla.events.stream import Event, Stream
from ottla.testing import Broker
from tests.testing.consuming import consuming


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    """One consumer came and went, and time was moved in between."""
    with Broker(clock="virtual") as broker:
        broker.topic("orders").create()
        with consuming(broker.bootstrap_servers, "kitchen", "orders"):
            broker.group("kitchen").wait_for_assignment()
            broker.advance(5_000)
        broker.group("kitchen").wait_for(state="Empty")
        yield broker


def test_printed_it_is_a_table_of_when_where_who_and_what(kafka: Broker) -> None:
    """Short enough for a terminal: of a member's id the random part is cut down."""
    head, *rows = str(kafka.timeline).splitlines()
    assert head.split() == ["real", "broker", "group", "member", "what", "happened"]
    told = [row.split(maxsplit=2) for row in rows if "kitchen" in row or "time" in row]
    assert [float(broker_s) for _real, broker_s, _what in told][-1] == 5.0
    whats = [row[head.index("what happened") :] for row in rows]
    assert "rebalance started: member_joined" in whats
    assert "time moved by 5000 ms" in whats
    of_group = [what for row, what in zip(rows, whats, strict=True) if "kitchen" in row]
    assert of_group[-3:] == ["removed: member_left", "rebalance started: member_left", "generation 2: no members left"]
    assert max(map(len, rows)) < 120


def test_it_can_be_chosen_from(kafka: Broker) -> None:
    """By kind, group, member and details, with patterns; each one is a value to look at."""
    (started, ended) = kafka.timeline.of("group.rebalance.started", group="kitchen")
    assert started.details["cause"] == "member_joined"
    assert (started.group_id, started.kind) == ("kitchen", "group.rebalance.started")
    assert started.member_id is not None
    assert started.member_id.startswith("ana-")
    assert ended.broker_s - started.broker_s == 5.0
    assert ended.sequence > started.sequence
    assert len(kafka.timeline.of(member="ana-*")) >= 3
    assert not kafka.timeline.of(group="nobody")
    assert [moment.kind for moment in kafka.timeline.of(cause="member_left")] == [
        "group.member.removed",
        "group.rebalance.started",
    ]


def test_short_form_leaves_out_what_is_minor(kafka: Broker) -> None:
    """And says how much more there was."""
    short = kafka.timeline.short(2)
    assert [moment.kind for moment in short] == ["group.rebalance.started", "group.emptied"]
    assert "... 7 more before" in str(short)
    assert "__consumer_offsets" not in str(kafka.timeline.short())


def test_it_is_there_when_all_is_over() -> None:
    with Broker() as kafka:
        kafka.topic("orders").create()
    assert [moment.said for moment in kafka.timeline] == ["topic orders created, 1 partition"]
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = Broker().timeline


def test_rebalances_are_counted_by_reason_and_member(kafka: Broker) -> None:
    kitchen = kafka.group("kitchen")
    kitchen.assert_rebalances()
    kitchen.assert_rebalances(exactly=2)
    kitchen.assert_rebalances(exactly=1, because="member_left", member="ana-*")
    kitchen.assert_rebalances(exactly=0, because="session_expired")
    kitchen.assert_rebalances(at_least=1, at_most=2)
    kitchen.assert_rebalances(exactly=0, since=kafka.mark())
    kafka.group("nobody").assert_rebalances(exactly=0)


def test_failed_assertion_says_how_many_there_were_and_shows_what_happened(kafka: Broker) -> None:
    """Of this group, and what is of none: other groups are left out."""
    with pytest.raises(AssertionError) as failure:
        kafka.group("kitchen").assert_rebalances(exactly=1, because="member_*", member="ana-*")
    said = str(failure.value)
    assert said.startswith(
        "exactly 1 wanted, and 2 rebalances of group kitchen because member_* by ana-*\n\nWhat happened:"
    )
    assert "time moved by 5000 ms" in said
    with pytest.raises(AssertionError, match="at least 1 wanted, and 0 rebalances of group nobody") as failure:
        kafka.group("nobody").assert_rebalances()
    assert "kitchen" not in str(failure.value)


def test_never_means_never(kafka: Broker) -> None:
    """From the start, or since a mark; in this group, to this member, for this reason."""
    kafka.assert_never("group.member.removed", cause="session_expired")
    kafka.assert_never("group.*", group="nobody")
    kafka.assert_never("group.*", since=kafka.mark())
    with pytest.raises(AssertionError) as failure:
        kafka.assert_never("group.member.*", group="kitchen", cause="member_left")
    assert "group.member.* (group='kitchen', cause='member_left') has happened, 1 in all:" in str(failure.value)


def test_what_can_never_be_is_an_error_and_no_proof(kafka: Broker) -> None:
    """A typing mistake must not make an assertion that always holds."""
    with pytest.raises(ValueError, match=r"no kind of event called 'group\.membr\.joined'; did you mean group"):
        kafka.assert_never("group.membr.joined")
    with pytest.raises(ValueError, match="no cause of a rebalance called 'left'; did you mean member_left"):
        kafka.group("kitchen").assert_rebalances(exactly=0, because="left")


def test_history_is_bounded_and_owns_up_to_it() -> None:
    """What was before is lost; an assertion that would need it says so instead of holding."""
    stream = Stream(lambda: 5, lambda: 1000)
    history = History(stream, 0, kept_max=2)
    for number in range(3):
        stream.tell(Kind.TIME_ADVANCED, ms=number)
    timeline = history.timeline()
    assert ([moment.details["ms"] for moment in timeline], timeline.lost) == ([1, 2], 1)
    assert "... 1 more before" in str(timeline)
    from ottla.testing.asserting import assert_never

    with pytest.raises(RuntimeError, match="the first 1 events are not kept any more"):
        assert_never(timeline, "group.*")
    assert_never(history.timeline(perf_counter_ns()), "group.*")
    history.close()
    stream.tell(Kind.TIME_ADVANCED, ms=3)
    assert len(history.timeline()) == 2


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_can_be_said(kind: EventKind) -> None:
    """With all of its details, and with none but those that it always has."""
    full = dict.fromkeys(kind.keys, 1)
    assert sentence(Event(1, 0, 0, None, kind, full))


@pytest.mark.parametrize(
    ("kind", "details", "said"),
    [
        (Kind.FAULT_SET, {"fault_id": 1, "fault": "Heartbeat: delay 500"}, "fault 1 set: Heartbeat: delay 500"),
        (
            Kind.FAULT_HIT,
            {"fault_id": 1, "fault": "Heartbeat: delay 500", "api": "Heartbeat", "client_id": "ana"},
            "fault 1 hit Heartbeat of ana: Heartbeat: delay 500",
        ),
        (
            Kind.FAULT_HIT,
            {"fault_id": 1, "fault": "full", "topic": "orders", "partition": 0},
            "fault 1 hit orders-0: full",
        ),
        (Kind.FAULT_HIT, {"fault_id": 1, "fault": "away"}, "fault 1 hit a connection: away"),
        (
            Kind.REQUEST_HELD,
            {"fault_id": 2, "api": "SyncGroup", "client_id": "ana", "at": "answer"},
            "SyncGroup of ana held at the answer by fault 2",
        ),
        (
            Kind.REQUEST_LET_GO,
            {"fault_id": 2, "api": "SyncGroup", "client_id": "ana", "how": "refused"},
            "SyncGroup of ana refused by fault 2",
        ),
        (
            Kind.DEADLINE_HELD,
            {"fault_id": 3, "deadline": "session", "group_id": "kitchen", "member_id": "ana-1"},
            "session held when it was due, by fault 3",
        ),
        (
            Kind.DEADLINE_LET_GO,
            {"fault_id": 3, "deadline": "session", "how": "let go", "is_void": True},
            "session let go, void by then, by fault 3",
        ),
    ],
)
def test_faults_and_barriers_are_among_it(kind: EventKind, details: dict[str, object], said: str) -> None:
    assert sentence(Event(1, 0, 0, None, kind, details)) == said


def test_ids_of_members_are_shortened_and_nothing_else() -> None:
    assert shortened("ana-5b1e77c0-0a1b-4c2d-8e3f-0123456789ab left") == "ana-5b1e77c0 left"
    assert shortened("orders-0") == "orders-0"


def test_nothing_is_said_where_nothing_happened() -> None:
    assert str(Timeline([])).splitlines()[1:] == ["nothing"]

"""The journal: what it tells of a group's life, and that a reader can derive from it what they want to know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.groups.journal import VERSION, Journal, line
from ottla.broker.groups.notes import NotesToStream
from ottla.coordinator.classic.events import Event as GroupEvent
from ottla.coordinator.classic.events import SessionEnded
from ottla.coordinator.classic.group import Group
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.step import step
from ottla.coordinator.notes import Cause, Note
from ottla.coordinator.offsets.committed import CommittedOffset
from ottla.coordinator.offsets.events import DeleteRequested, SweepDue
from ottla.coordinator.runtime.effects import Append
from ottla.coordinator.runtime.events import AppendCompleted, Loaded, TimerExpired, Unloaded
from ottla.events.kinds.groups import NOTED, GroupEvents
from ottla.events.stream import Event, Stream
from ottla.protocol.errors import ErrorCode
from tests.coordinator.actors import Actor, Name, bring_in, make_stable, new_group, protocols
from tests.coordinator.node import running_node


@pytest.fixture
def ana() -> Actor:
    return Actor("ana")


@pytest.fixture
def bo() -> Actor:
    return Actor("bo")


DOCS = Path(__file__).parents[3] / "docs" / "journal.md"


class Told:
    """The journal of one group, as a reader finds it."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.text = b""
        self.turns: list[Any] = []
        self.journal = Journal(self._write, self.turns.append)
        events = Stream(lambda: 0, lambda: 0)
        events.read(self.journal, NOTED)
        self.tell = NotesToStream(events)

    def _write(self, lines: bytes) -> None:
        self.text += lines

    def play(self, now_ms: int, *events: GroupEvent, error: ErrorCode = ErrorCode.NONE) -> None:
        for event in events:
            waiting: list[GroupEvent] = [event]
            while waiting:
                for effect in step(self.group, now_ms, waiting.pop(0)):
                    if isinstance(effect, Note):
                        self.tell(self.group.group_id, now_ms, effect)
                    elif isinstance(effect, Append):
                        waiting.append(AppendCompleted(effect.completion, error))

    @property
    def lines(self) -> list[dict[str, Any]]:
        self.journal.flush()
        return [json.loads(text) for text in self.text.splitlines()]

    def events(self) -> list[str]:
        return [told["event"] for told in self.lines]


def test_the_life_of_a_group(ana: Actor, bo: Actor) -> None:
    """From the first join to the last tombstone: who came and went, why it rebalanced, for how long."""
    group = new_group(is_noted=True)
    told = Told(group)
    ana.version = bo.version = 3
    told.play(0, ana.joins(reason="first")())
    told.play(3_000, TimerExpired("join"))
    ana.member_id, ana.generation_id = "ana-1", 1
    told.play(3_010, ana.syncs({ana: b"all"})())
    told.play(5_000, bo.joins()())
    told.play(5_100, ana.joins()())
    bo.member_id, bo.generation_id, ana.generation_id = "bo-2", 2, 2
    told.play(5_200, bo.syncs()(), ana.syncs({ana: b"a", bo: b"bb"})())
    told.play(15_200, TimerExpired("heartbeat-bo-2"))
    told.play(16_000, ana.leaves(reason="closing")())
    told.play(20_000, SweepDue())

    assert [{k: v for k, v in told_line.items() if k not in {"v", "line", "group"}} for told_line in told.lines] == [
        {"t": 0, "seq": 1, "event": "group.created", "state": "Empty", "generation": 0, "cause": "join"},
        {
            "t": 0,
            "seq": 2,
            "event": "group.member.joined",
            "state": "Empty",
            "generation": 0,
            "member_id": "ana-1",
            "client_id": "ana",
            "client_host": "/ana",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "reason": "first",
        },
        {
            "t": 0,
            "seq": 3,
            "event": "group.rebalance.started",
            "state": "PreparingRebalance",
            "generation": 0,
            "cause": "member_joined",
            "member_id": "ana-1",
            "reason": "first",
            "delay_ms": 3_000,
        },
        {
            "t": 3_000,
            "seq": 4,
            "event": "group.rebalance.joined",
            "state": "CompletingRebalance",
            "generation": 1,
            "cause": "member_joined",
            "member_ids": ["ana-1"],
            "leader": "ana-1",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "duration_ms": 3_000,
        },
        {
            "t": 3_010,
            "seq": 5,
            "event": "group.rebalance.completed",
            "state": "Stable",
            "generation": 1,
            "cause": "member_joined",
            "leader": "ana-1",
            "protocol_name": "range",
            "assignment_bytes": {"ana-1": 3},
            "duration_ms": 3_010,
        },
        {
            "t": 5_000,
            "seq": 6,
            "event": "group.member.joined",
            "state": "Stable",
            "generation": 1,
            "member_id": "bo-2",
            "client_id": "bo",
            "client_host": "/bo",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
        },
        {
            "t": 5_000,
            "seq": 7,
            "event": "group.rebalance.started",
            "state": "PreparingRebalance",
            "generation": 1,
            "cause": "member_joined",
            "member_id": "bo-2",
        },
        {
            "t": 5_100,
            "seq": 8,
            "event": "group.member.rejoined",
            "state": "PreparingRebalance",
            "generation": 1,
            "member_id": "ana-1",
            "is_changed": False,
        },
        {
            "t": 5_100,
            "seq": 9,
            "event": "group.rebalance.joined",
            "state": "CompletingRebalance",
            "generation": 2,
            "cause": "member_joined",
            "member_ids": ["ana-1", "bo-2"],
            "leader": "ana-1",
            "protocol_type": "consumer",
            "protocol_name": "range",
            "duration_ms": 100,
        },
        {
            "t": 5_200,
            "seq": 10,
            "event": "group.rebalance.completed",
            "state": "Stable",
            "generation": 2,
            "cause": "member_joined",
            "leader": "ana-1",
            "protocol_name": "range",
            "assignment_bytes": {"ana-1": 1, "bo-2": 2},
            "duration_ms": 200,
        },
        {
            "t": 15_200,
            "seq": 11,
            "event": "group.member.removed",
            "state": "Stable",
            "generation": 2,
            "member_id": "bo-2",
            "cause": "session_expired",
            "silent_ms": 10_000,
        },
        {
            "t": 15_200,
            "seq": 12,
            "event": "group.rebalance.started",
            "state": "PreparingRebalance",
            "generation": 2,
            "cause": "session_expired",
            "member_id": "bo-2",
        },
        {
            "t": 16_000,
            "seq": 13,
            "event": "group.member.removed",
            "state": "PreparingRebalance",
            "generation": 2,
            "member_id": "ana-1",
            "cause": "member_left",
            "reason": "closing",
        },
        {
            "t": 16_000,
            "seq": 14,
            "event": "group.emptied",
            "state": "Empty",
            "generation": 3,
            "duration_ms": 800,
        },
        {"t": 20_000, "seq": 15, "event": "group.deleted", "state": "Empty", "generation": 3, "cause": "retention"},
    ]


def test_the_state_at_any_time_can_be_derived(ana: Actor) -> None:
    """It is that of the last line before: every change of state has one. And no line is missing."""
    group = new_group(is_noted=True)
    told = Told(group)
    ana.version = 3
    play: list[tuple[int, Callable[[], GroupEvent]]] = [
        (0, ana.joins()),
        (3_000, lambda: TimerExpired("join")),
        (4_000, ana.syncs(member_id="ana-1", generation_id=1)),
        (9_000, ana.joins(member_id="ana-1", protocols=protocols("range", metadata=b"new"))),
        (10_000, lambda: TimerExpired("heartbeat-ana-1")),
    ]
    for now_ms, event in play:
        told.play(now_ms, event())
        assert told.lines[-1]["state"] == group.state.value
    assert [told_line["seq"] for told_line in told.lines] == list(range(1, len(told.lines) + 1))
    assert group.state is GroupState.EMPTY


def test_who_was_given_up_had_been_silent_for_so_long() -> None:
    """Since the last sign of life, whatever ended the waiting: the session, a test, a join that never came."""
    silences = []
    for last in (TimerExpired("heartbeat-bo-2"), SessionEnded("bo-2"), TimerExpired("join")):
        group = new_group(is_noted=True)
        ana, bo = Actor("ana"), Actor("bo")
        make_stable(group, ana, bo)
        told = Told(group)
        told.play(7_000, bo.beats(generation_id=1)())
        told.play(9_000, ana.joins(member_id="ana-1", protocols=protocols("range", metadata=b"new"))())
        told.play(10_000, last)
        silences += [line["silent_ms"] for line in told.lines if line["event"] == "group.member.removed"]
    assert silences == [3_000, 3_000, 3_000]


def test_what_goes_wrong_is_told(ana: Actor, bo: Actor) -> None:
    """Refused joins, failed writes, rebalances that find no protocol."""
    group = new_group(is_unwritten=False, is_noted=True)
    told = Told(group)
    bring_in(group, ana)
    told.play(1, bo.joins(protocols=protocols("unheard of"))())
    told.play(2, ana.syncs()(), error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    told.play(3, ana.commits({("orders", 0): 1})(), error=ErrorCode.MESSAGE_TOO_LARGE)
    told.play(4, ana.joins(protocols=protocols("range", "range"))())
    details = [(told_line["event"], told_line.get("error"), told_line.get("what")) for told_line in told.lines]
    assert [detail for detail in details if detail[1]] == [
        ("group.join.refused", "INCONSISTENT_GROUP_PROTOCOL", None),
        ("group.write.failed", "NOT_COORDINATOR", "assignments"),
        ("group.write.failed", "UNKNOWN_SERVER_ERROR", "offsets"),
        ("group.join.refused", "UNKNOWN_SERVER_ERROR", None),
    ]
    assert "group.rebalance.stuck" in told.events()


def test_everything_that_can_happen_is_told_somewhere(ana: Actor, bo: Actor) -> None:
    """Each name of `Happened` is written by some story; so none is only a promise."""
    seen = set()

    def play(group: Group, *events: GroupEvent, error: ErrorCode = ErrorCode.NONE) -> None:
        told = Told(group)
        told.play(0, *events, error=error)
        seen.update(told.events())

    group = new_group(is_noted=True)
    play(group, ana.joins()(), bo.joins(version=3)(), bo.joins(protocols=[])(), TimerExpired("join"))
    ana.member_id = ""
    static = Actor("static", group_instance_id="i")
    group = new_group(is_noted=True)
    make_stable(group, static)
    group.offsets.keep("payments", 0, CommittedOffset(1, -1, "", 0))
    play(group, static.joins()(), static.syncs(generation_id=2)(), static.joins(member_id="")())
    play(group, static.syncs(member_id="i-2", generation_id=2)(), static.joins(member_id="i-2")())
    play(group, static.leaves(member_id="i-2")(), error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    group.state_timestamp_ms = -group.config.offsets_retention_ms
    play(group, Loaded(), SweepDue())
    stuck = Actor("stuck", "range", "range", version=3)
    group = new_group(is_noted=True)
    play(group, stuck.joins()(), TimerExpired("join"), Unloaded())
    group = new_group(is_noted=True)
    play(group, ana.joins()(), DeleteRequested(Name("delete")))
    assert {kind.name for kind in NOTED} == seen


def test_nothing_is_noted_without_a_journal(ana: Actor) -> None:
    """They are only counted."""
    group = new_group()
    make_stable(group, ana)
    noted = group.notes
    assert not [effect for effect in step(group, 0, ana.leaves()()) if isinstance(effect, Note)]
    assert group.notes > noted > 0


def test_of_the_notes_those_are_made_that_somebody_reads(ana: Actor) -> None:
    """The others are counted."""
    group = new_group()
    make_stable(group, ana)
    group.notes_wanted = {GroupEvents.GROUP_EMPTIED}
    (note,) = [effect for effect in step(group, 0, ana.leaves()()) if isinstance(effect, Note)]
    assert (note.kind, note.sequence) == (GroupEvents.GROUP_EMPTIED, group.notes)


def told(note: Note, group_id: str = "group") -> Event:
    """A note as the stream has it."""
    events, heard = Stream(lambda: 0, lambda: 0), list[Event]()
    events.read(heard.append)
    NotesToStream(events)(group_id, 5, note)
    return heard[0]


def test_lines_are_written_once_a_turn() -> None:
    """However many notes there are; without any, nothing is asked for."""
    written: list[bytes] = []
    later: list[Any] = []
    journal = Journal(written.append, later.append)
    assert later == []
    event = told(Note(1, GroupEvents.GROUP_CREATED, GroupState.EMPTY, 0, {"cause": Cause.JOIN}))
    for _ in range(3):
        journal(event)
    assert (written, len(later)) == ([], 1)
    later[0]()
    assert written == [b"".join(line(number, event) for number in (1, 2, 3))]
    later[0]()
    assert len(written) == 1
    journal(event)
    assert len(later) == 2


def test_a_line_is_one_line_whatever_ids_are_made_of() -> None:
    """Line feeds, quotes and what lies beyond ASCII are escaped."""
    note = Note(1, GroupEvents.GROUP_MEMBER_JOINED, GroupState.EMPTY, 0, {"member_id": 'é"\n\u2028-1'})
    text = line(1, told(note, 'gr"oup\n'))
    assert text.count(b"\n") == 1
    assert text.isascii()
    assert json.loads(text)["member_id"] == 'é"\n\u2028-1'
    assert json.loads(text)["v"] == VERSION


async def test_the_owner_passes_notes_on(ana: Actor) -> None:
    """With the group's id and the date."""
    async with running_node() as node:
        await node.ask(ana.joins())
        names = [(group_id, note.kind) for group_id, _, note in node.notes]
        assert names == [("group", GroupEvents.GROUP_CREATED), ("group", GroupEvents.GROUP_MEMBER_ID_HANDED_OUT)]
        assert node.notes[0][1] == node.clock.wall_ms()


def test_the_document_tells_of_every_event_and_cause() -> None:
    """docs/journal.md has a row for each event and for each cause, and for nothing else."""
    text = DOCS.read_text()
    rows = set(re.findall(r"^\| `([a-z_.]+)` \|", text, re.MULTILINE))
    events = {row for row in rows if row.startswith("group.")}
    causes = set(re.findall(r"^- `([a-z_]+)`:", text, re.MULTILINE))
    assert events == {kind.name for kind in NOTED}
    assert causes == {cause.value for cause in Cause}

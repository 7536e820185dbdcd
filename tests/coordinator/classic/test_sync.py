"""SyncGroup: how assignments get from the leader to everybody, and what happens if they don't."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinator.classic.records import group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.sync import AssignmentsWritten
from ottla.coordinator.classic.timers import SYNC_TIMER
from ottla.coordinator.notes import Note
from ottla.coordinator.runtime.effects import Append, Arm, Disarm, Effect, Ended
from ottla.coordinator.runtime.events import Unloaded
from ottla.events.kinds.groups import GroupEvents
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, NotWritten, Playbook, Written
from tests.coordinator.actors import Actor, Answer, Name, bring_in, make_stable, new_group, perform, protocols

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
IN_PROGRESS = ErrorCode.REBALANCE_IN_PROGRESS


class AssignmentsAppended:
    """Expected: the record with the leader's assignments."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, AssignmentsWritten)


@pytest.mark.parametrize("named", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}], ids=str)
def test_another_protocol_is_refused(ana: Actor, named: dict[str, Any]) -> None:
    """Type or name, in Completing and in Stable; the sync is still owed."""
    group = new_group()
    bring_in(group, ana)
    inconsistent = ana.is_refused("sync", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert Playbook(group) >> ana.syncs(**named) << inconsistent << Is(COMPLETING)
    assert group.pending_syncs
    perform(group, 0, ana.syncs()())
    assert Playbook(group) >> ana.syncs(**named) << inconsistent << Is(STABLE)


def test_the_generation_is_written_before_anybody_has_it(ana: Actor, bo: Actor) -> None:
    """Nobody is answered, and the group is not Stable, until the record is in the log."""
    group = new_group()
    bring_in(group, ana, bo)
    book = Playbook(group, writes=True)
    assert (
        book
        >> bo.syncs()
        >> ana.syncs({ana: b"a", bo: b"b"})
        << AssignmentsAppended()
        << Is(COMPLETING)
        >> Written()
        << ana.synced(b"a")
        << bo.synced(b"b")
        << Is(STABLE)
    )
    group.state_timestamp_ms = 0
    assert book.log == [group_record(group)]


def test_sessions_start_anew_with_the_sync_answer(ana: Actor, bo: Actor) -> None:
    """They may have run out while the request was parked; a sync in Stable moves nothing."""
    group = new_group()
    bring_in(group, ana, bo)
    assert (
        Playbook(group, timers=True, now_ms=0)
        >> bo.syncs()
        >> At(9_000)
        >> ana.beats()
        << Arm("heartbeat-ana-1", 19_000)
        << ana.is_answered(ErrorCode.NONE)
        >> At(12_000)  # Bo's session ran out at 10 s, and it is still there
        >> ana.syncs({})
        << Disarm(SYNC_TIMER)
        << ana.synced(b"")
        << Arm("heartbeat-ana-1", 22_000)
        << bo.synced(b"")
        << Arm("heartbeat-bo-2", 22_000)
        >> bo.syncs()
        << bo.synced(b"")
    )


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_assignments_that_cannot_be_written(ana: Actor, bo: Actor, failure: ErrorCode, answer: ErrorCode) -> None:
    """Everybody who waits is told; the group rebalances, and the next generation is another one."""
    group = new_group()
    bring_in(group, ana, bo)
    assert (
        Playbook(group, writes=True)
        >> bo.syncs()
        >> ana.syncs({ana: b"a", bo: b"b"})
        << AssignmentsAppended()
        >> NotWritten(failure)
        << ana.is_refused("sync", answer, assignment=b"", protocol_name=None)
        << bo.is_refused("sync", answer, assignment=b"", protocol_name=None)
        << Is(PREPARING)
        >> ana.joins()
        >> bo.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
def test_the_group_moves_on_before_the_assignments_are_written(ana: Actor, bo: Actor, is_written: bool) -> None:
    """A rebalance began meanwhile: they are history, one way or the other."""
    group = new_group()
    bring_in(group, ana)
    bo.version = 3
    assert (
        Playbook(group, writes=True)
        >> ana.syncs({ana: b"a"})
        << AssignmentsAppended()
        >> bo.joins()
        << ana.is_refused("sync", IN_PROGRESS)
        << Is(PREPARING)
        >> (Written() if is_written else NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS))
        << Is(PREPARING)
    )
    assert group.members[ana.member_id].assignment == b""


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
def test_the_next_generation_waits_for_its_own_assignments(ana: Actor, is_written: bool) -> None:
    """The group is Completing again when the assignments of the generation before are written: not meant for it."""
    group = new_group()
    bring_in(group, ana)
    changed = protocols("range", metadata=b"new")
    assert (
        Playbook(group, writes=True)
        >> ana.syncs({ana: b"old"})
        << AssignmentsAppended()
        >> ana.joins(protocols=changed)
        << ana.is_refused("sync", IN_PROGRESS)
        << ana.joined(generation_id=2)
        << Is(COMPLETING)
        >> (Written() if is_written else NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS))
        << Is(COMPLETING)
        >> ana.syncs({ana: b"new"})
        << AssignmentsAppended()
        >> Written()
        << ana.synced(b"new")
    )


def test_a_leader_that_syncs_twice_is_answered_twice(ana: Actor) -> None:
    """The first request at once, that it should join again; its second record comes when the first has decided."""
    group = new_group()
    bring_in(group, ana)
    assert (
        Playbook(group, writes=True)
        >> ana.syncs({ana: b"first"}, token="first")
        << AssignmentsAppended()
        >> ana.syncs({ana: b"second"}, token="second")
        << Answer(Name("first"), {"error_code": IN_PROGRESS})
        << AssignmentsAppended()
        >> Written()
        << ana.synced(b"first", token="second")
        << Is(STABLE)
        >> Written()
        << Is(STABLE)
    )


# ── Syncs that don't come ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_leader_that_falls_silent_sends_the_others_back(ana: Actor, bo: Actor) -> None:
    """Its session ends before it synced; a parked follower is told to rejoin."""
    group = new_group()
    bring_in(group, ana, bo)
    assert (
        Playbook(group)
        >> bo.syncs()
        >> At(10_000)
        << bo.is_refused("sync", IN_PROGRESS)
        << Is(PREPARING)
        >> bo.joins()
        << bo.joined(generation_id=2, leader=bo)
    )


def keep_beating(book: Playbook, until_ms: int, *actors: Actor) -> Playbook:
    """Let these members beat every five seconds."""
    for now_ms in range(5_000, until_ms, 5_000):
        book = book >> At(now_ms)
        for actor in actors:
            book = book >> actor.beats() << actor.is_answered(ErrorCode.NONE)
    return book


def test_a_follower_does_not_sync_though_the_group_is_stable(ana: Actor, bo: Actor) -> None:
    """It beats, and never fetched its assignment: it is removed, and the others rebalance."""
    group = new_group()
    bring_in(group, ana, bo)
    perform(group, 0, ana.syncs({ana: b"a", bo: b"b"})())
    assert keep_beating(Playbook(group), 60_000, ana, bo) << Is(STABLE) >> At(60_000) << Is(PREPARING)
    assert list(group.members) == [ana.member_id]


def test_the_leader_does_not_sync_though_the_others_do(ana: Actor, bo: Actor) -> None:
    """It is removed; those who wait are told to rejoin."""
    group = new_group()
    bring_in(group, ana, bo)
    assert (
        keep_beating(Playbook(group) >> bo.syncs(), 60_000, ana, bo)
        >> At(60_000)
        << bo.is_refused("sync", IN_PROGRESS)
        << Is(PREPARING)
    )
    assert list(group.members) == [bo.member_id]


def test_static_members_owe_their_syncs_too() -> None:
    """The sync timer removes them as any other."""
    group = new_group()
    ana, bo = Actor("ana"), Actor("bo", group_instance_id="bo's")
    bring_in(group, ana, bo)
    perform(group, 0, ana.syncs()())
    assert keep_beating(Playbook(group), 60_000, ana, bo) >> At(60_000) << Is(PREPARING)
    assert list(group.members) == [ana.member_id]


def test_once_all_have_synced_the_timer_stops(ana: Actor, bo: Actor) -> None:
    """Also if the last one does in Stable."""
    group = new_group()
    bring_in(group, ana, bo)
    book = Playbook(group)
    assert book >> ana.syncs() << ana.synced(b"") << Is(STABLE)
    assert book.timers[SYNC_TIMER] == 60_000
    assert book >> bo.syncs() << bo.synced(b"")
    assert SYNC_TIMER not in book.timers


class Completed:
    """Expected: the note that a rebalance is completed."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Note) and effect.kind is GroupEvents.GROUP_REBALANCE_COMPLETED


def test_a_rebalance_is_completed_once(ana: Actor, bo: Actor) -> None:
    """However often its members sync; that is what is counted."""
    group = new_group(is_noted=True)
    bring_in(group, ana, bo)
    assert (
        Playbook(group, notes=True)
        >> bo.syncs()
        >> ana.syncs()
        << ana.synced(b"")
        << bo.synced(b"")
        << Completed()
        >> bo.syncs()
        << bo.synced(b"")
        >> ana.syncs()
        << ana.synced(b"")
    )


def test_parked_syncs_are_told_when_the_group_is_unloaded(ana: Actor, bo: Actor) -> None:
    """Another node coordinates it now."""
    group = new_group()
    bring_in(group, ana, bo)
    unloaded = bo.is_refused("sync", ErrorCode.NOT_COORDINATOR)
    assert Playbook(group) >> bo.syncs() >> Unloaded() << unloaded << Ended()


def test_a_static_member_may_sync_by_its_member_id_alone(ana: Actor) -> None:
    """Before version 3 it can't say more."""
    group = new_group()
    ana.group_instance_id = "ana's"
    make_stable(group, ana)
    assert Playbook(group) >> ana.syncs(group_instance_id=None) << ana.synced(b"ana")

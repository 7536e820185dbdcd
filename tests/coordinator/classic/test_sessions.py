"""Heartbeats and sessions: what keeps a member alive, and what happens when nothing does."""

from __future__ import annotations

import pytest

from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.runtime.effects import Arm
from ottla.coordinator.runtime.events import TimerExpired, Unloaded
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, Playbook
from tests.coordinator.actors import Actor, bring_in, fetches, make_stable, new_group, perform

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


def test_heartbeats_of_one_millisecond_move_the_timer_once(ana: Actor) -> None:
    """Each is answered; the next millisecond's moves it again."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group, timers=True)
        >> At(9_000)
        >> ana.beats()
        << Arm("heartbeat-ana-1", 19_000)
        << ana.is_answered(ErrorCode.NONE)
        >> ana.beats()
        << ana.is_answered(ErrorCode.NONE)
        >> At(9_001)
        >> ana.beats()
        << Arm("heartbeat-ana-1", 19_001)
        << ana.is_answered(ErrorCode.NONE)
    )


def test_a_new_member_that_falls_silent_after_its_answer_is_removed(ana: Actor, bo: Actor) -> None:
    """Its five minutes are over with the answer; the session timeout counts."""
    group = new_group()
    bo.version = 3
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> bo.joins()
        >> ana.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
        >> At(9_000)
        >> ana.beats()
        << ana.is_answered(ErrorCode.NONE)
        << Is(COMPLETING)
        >> At(10_000)
        << Is(PREPARING)
    )
    assert list(group.members) == [ana.member_id]


def test_a_member_that_beats_in_preparing_lives_and_one_that_does_not_is_dropped(
    ana: Actor, bo: Actor, cy: Actor
) -> None:
    """The answer calls it back, and its session goes on; the silent one is gone before the join timer runs out."""
    group = new_group()
    make_stable(group, ana, bo, cy)
    assert (
        Playbook(group)
        >> ana.joins()
        << Is(PREPARING)
        >> At(8_000)
        >> bo.beats()
        << bo.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        >> At(10_000)
        << Is(PREPARING)
        >> bo.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )
    assert group.members.keys() == {ana.member_id, bo.member_id}


def test_the_session_of_the_last_one_missing_completes_the_join(ana: Actor, bo: Actor) -> None:
    """Nobody else is awaited."""
    group = new_group()
    make_stable(group, ana, bo)
    assert Playbook(group) >> ana.joins() << Is(PREPARING) >> At(10_000) << ana.joined(generation_id=2)


def test_what_does_not_keep_a_session(ana: Actor, bo: Actor) -> None:
    """A stale generation, another's instance, a fetch, a repeated join, a sync in Stable: the deadline stays."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group, timers=True)
        >> At(5_000)
        >> bo.beats(generation_id=0)
        << bo.is_answered(ErrorCode.ILLEGAL_GENERATION)
        >> bo.beats(group_instance_id="nobody's")
        << bo.is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
        >> bo.joins()
        << bo.joined(generation_id=1)
        >> bo.syncs()
        << bo.synced(b"bo")
    )
    perform(group, 5_000, fetches(("orders", 0)))
    assert group.members[bo.member_id].deadline_ms == 10_000


@pytest.mark.parametrize(
    ("state", "moves"),
    [(PREPARING, True), (COMPLETING, False), (STABLE, True)],
)
def test_a_commit_keeps_the_session(ana: Actor, bo: Actor, state: GroupState, moves: bool) -> None:
    """In Stable and in Preparing; in Completing it is refused, and moves nothing."""
    group = new_group()
    bring_in(group, ana, bo)
    if state is not COMPLETING:
        perform(group, 0, ana.syncs()())
        perform(group, 0, bo.syncs()())
    if state is PREPARING:
        perform(group, 0, ana.joins()())
    assert group.state is state
    perform(group, 4_000, bo.commits({("orders", 0): 1})())
    assert group.members[bo.member_id].deadline_ms == (14_000 if moves else 10_000)


def test_timers_of_what_is_gone_mean_nothing(ana: Actor) -> None:
    """Should one of somebody unknown run out, or one after the group was unloaded, nothing happens."""
    group = new_group()
    make_stable(group, ana)
    for timer_key in ("heartbeat-nobody", "join", "sync"):
        assert Playbook(group) >> TimerExpired(timer_key) << Is(STABLE)
    perform(group, 0, Unloaded())
    for timer_key in ("heartbeat-ana-1", "join", "sync"):
        assert Playbook(group) >> TimerExpired(timer_key) << Is(GroupState.DEAD)


def test_each_member_has_its_own_session_timeout(ana: Actor, bo: Actor) -> None:
    """What it asked for when it joined."""
    group = new_group()
    ana.session_timeout_ms, bo.session_timeout_ms = 8_000, 30_000
    make_stable(group, ana, bo)
    assert (
        Playbook(group, timers=True, now_ms=1_000)
        >> ana.beats()
        << Arm("heartbeat-ana-1", 9_000)
        << ana.is_answered(ErrorCode.NONE)
        >> bo.beats()
        << Arm("heartbeat-bo-2", 31_000)
        << bo.is_answered(ErrorCode.NONE)
    )

"""What a test does to a group from outside leads to what the real thing leads to."""

from __future__ import annotations

from ottla.coordinator.classic.events import RebalanceWanted, SessionEnded
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.runtime.effects import Disarm
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, Playbook
from tests.coordinator.actors import Actor, bring_in, make_stable, new_group

PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


def test_one_session_ends_and_the_others_go_on(ana: Actor, bo: Actor) -> None:
    """The member is nobody, its timer is gone, and the other one lives as long as ever."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> At(4_000)
        >> (lambda: SessionEnded(ana.member_id or ""))
        << Is(PREPARING)
        >> ana.beats()
        << ana.is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
        >> bo.beats()
        << bo.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        >> bo.joins()
        << bo.joined(leader=bo)
        << Is(COMPLETING)
    )
    assert [key for key in group.deadlines if "ana" in key] == []


def test_the_timer_of_a_session_that_ended_is_stopped(ana: Actor) -> None:
    """It would be one of nobody's."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group, timers=True)
        >> (lambda: SessionEnded(ana.member_id or ""))
        << Disarm(f"heartbeat-{ana.member_id}")
        << Is(GroupState.EMPTY)
    )


def test_who_waits_for_an_answer_is_alive(ana: Actor, bo: Actor) -> None:
    """Its session cannot end, as in Kafka; and it is the same session afterwards."""
    group = new_group()
    bring_in(group, ana, bo)
    book = Playbook(group)
    assert book >> bo.syncs() >> (lambda: SessionEnded(bo.member_id or "")) << Is(COMPLETING)
    assert group.members[bo.member_id or ""].deadline_ms is not None


def test_nobody_by_that_name_changes_nothing(ana: Actor) -> None:
    """It may have left just before."""
    group = new_group()
    make_stable(group, ana)
    assert Playbook(group) >> SessionEnded("bo-7") << Is(STABLE)


def test_a_wanted_rebalance_calls_everybody_back(ana: Actor, bo: Actor) -> None:
    """While it goes on another wish changes nothing, and with nobody there neither."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> RebalanceWanted()
        << Is(PREPARING)
        >> bo.beats()
        << bo.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        >> RebalanceWanted()
        << Is(PREPARING)
        >> bo.joins()
        >> ana.joins()
        << ana.joined(leader=ana)
        << bo.joined(leader=ana)
        << Is(COMPLETING)
        >> bo.syncs()
        >> RebalanceWanted()
        << bo.is_refused("sync", ErrorCode.REBALANCE_IN_PROGRESS)
        << Is(PREPARING)
    )
    nobody = new_group()
    assert Playbook(nobody) >> RebalanceWanted() << Is(GroupState.EMPTY)

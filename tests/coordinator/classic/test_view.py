"""What is seen of a classic group from outside: what it waits for in each phase, and until when."""

from __future__ import annotations

from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.view import waits_for
from ottla.coordinator.kinds.view import WaitsFor
from ottla.testing.playbook import At, Is, Playbook, Written
from tests.coordinator.actors import Actor, bring_in, make_stable, new_group, perform, protocols
from tests.coordinator.classic.test_sync import AssignmentsAppended

STABLE = GroupState.STABLE


def id_of(actor: Actor) -> str:
    assert actor.member_id
    return actor.member_id


def test_a_new_group_waits_for_more_members(ana: Actor) -> None:
    """Until its initial delay is over."""
    group = new_group()
    assert waits_for(group) is None
    assert Playbook(group) >> ana.joins() << ana.is_given_id() >> At(500) >> ana.joins()
    assert waits_for(group) == WaitsFor("more members", (), 3_500)
    assert str(waits_for(group)) == "more members"


def test_a_rebalance_waits_for_members_that_have_not_rejoined(ana: Actor, bo: Actor) -> None:
    """And for a member id that was handed out; until the rebalance timeout."""
    group = new_group()
    make_stable(group, ana, bo)
    cy = Actor("cy")
    assert Playbook(group) >> cy.joins() << cy.is_given_id() >> ana.joins()
    deadline_ms = group.join_deadline_ms
    assert deadline_ms is not None
    assert waits_for(group) == WaitsFor("JoinGroup", (id_of(bo), id_of(cy)), deadline_ms)
    assert str(waits_for(group)) == f"JoinGroup of {bo.member_id}, {cy.member_id}"


def test_a_new_generation_waits_for_the_leader_then_for_its_log_then_for_followers(ana: Actor, bo: Actor) -> None:
    """When the leader's assignment is in the log, members that have not asked for theirs still owe a SyncGroup."""
    group = new_group()
    bring_in(group, ana, bo)
    deadline_ms = group.sync_deadline_ms
    assert waits_for(group) == WaitsFor("SyncGroup", (id_of(ana),), deadline_ms)
    book = Playbook(group, writes=True)
    assert book >> ana.syncs({ana: b"a", bo: b"b"}) << AssignmentsAppended()
    assert waits_for(group) == WaitsFor("the assignment in the log")
    assert book >> Written() << ana.synced(b"a") << Is(STABLE)
    assert waits_for(group) == WaitsFor("SyncGroup", (id_of(bo),), deadline_ms)
    perform(group, 0, bo.syncs()())
    assert waits_for(group) is None


def test_a_stuck_rebalance_waits_for_a_protocol_in_common() -> None:
    """However long that takes: nothing else moves it."""
    group = new_group(group_max_size=2)
    ana, bo = Actor("ana", "q"), Actor("bo", "q", "y", "y", version=3)
    make_stable(group, ana)
    perform(group, 0, bo.joins()())
    perform(group, 0, ana.joins(protocols=protocols("y", "y"))())
    assert waits_for(group) == WaitsFor("a protocol in common", (id_of(ana), *set(group.members) - {id_of(ana)}))

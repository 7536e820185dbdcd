"""Stories G: how a group moves between its states, told over TCP."""

from __future__ import annotations

from itertools import permutations

import pytest

from ottla.protocol.errors import ErrorCode
from ottla.testing import Broker
from tests.stories.actors import Actor, Stage

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"


@pytest.mark.own_broker(settings={"group.initial.rebalance.delay.ms": 3000})
def test_story_g1_regular_cycle(broker: Broker, stage: Stage, ana: Actor, bo: Actor) -> None:
    """Two consumers, one after the other: two rebalances, generations 1 and 2, each Preparing, Completing, Stable."""
    ana.joins().is_given_id()
    stage.shows(EMPTY, members=0)
    ana.joins()
    stage.shows(PREPARING, members=1)
    broker.advance(2_999)
    assert ana.is_parked
    broker.advance(1)
    ana.joined(generation_id=1, leader=ana)
    stage.shows(COMPLETING, members=1)
    ana.syncs({ana: b"all"}).synced(b"all")
    stage.shows(STABLE, members=1)
    bo.enters()
    stage.shows(PREPARING, members=2)
    assert bo.is_parked
    ana.beats().is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
    ana.joins().joined(generation_id=2, leader=ana)
    bo.joined(generation_id=2, leader=ana)
    stage.shows(COMPLETING, members=2)
    bo.syncs()
    ana.syncs({ana: b"a", bo: b"b"}).synced(b"a")
    bo.synced(b"b")
    stage.shows(STABLE, members=2)


def test_story_g2_newcomer_while_completing(stage: Stage, ana: Actor, bo: Actor) -> None:
    """Ana has not synced when Bo joins: straight back to Preparing, and one more generation for both."""
    stage.joining(ana)
    stage.shows(COMPLETING, members=1)
    bo.enters()
    stage.shows(PREPARING, members=2)
    ana.syncs({ana: b"all"}).is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
    ana.joins().joined(generation_id=2, leader=ana)
    bo.joined(generation_id=2, leader=ana)
    stage.shows(COMPLETING, members=2)


def test_story_g3_newcomer_while_preparing(stage: Stage, ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy joins before Ana is back: it changes no state, and it is in the generation that Ana completes."""
    stage.stable(ana)
    bo.enters()
    stage.shows(PREPARING, members=2)
    cy.enters()
    stage.shows(PREPARING, members=3)
    assert bo.is_parked
    assert cy.is_parked
    ana.joins().joined(generation_id=2, leader=ana)
    bo.joined(generation_id=2, leader=ana)
    cy.joined(generation_id=2, leader=ana)


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_story_g4_one_delayed_join_per_rebalance(stage: Stage, order: tuple[int, ...]) -> None:
    """In whatever order three members come back, nobody is answered before the last, and all are then, once."""
    members = [stage.actor(name) for name in ("ana", "bo", "cy")]
    generation_id = stage.stable(*members)
    dee = stage.actor("dee").enters()
    stage.shows(PREPARING, members=4)
    waiting = [dee]
    for index in order:
        stage.shows(PREPARING, members=4)
        assert all(actor.is_parked for actor in waiting)
        waiting.append(members[index].joins())
    for actor in waiting:
        actor.joined(generation_id=generation_id + 1, leader=members[0])
    for actor in waiting:  # nothing came twice: the next thing each hears is the answer to its heartbeat
        actor.beats().is_answered()


def test_story_g5_newcomer_first_finds_preparing(stage: Stage, ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy joins before Ana and Bo are back, so all of them are in one generation."""
    stage.stable(ana, bo)
    ana.joins()  # the leader may ask for a rebalance
    stage.shows(PREPARING, members=2)
    cy.enters()
    stage.shows(PREPARING, members=3)
    bo.joins()
    for actor in (ana, bo, cy):
        actor.joined(generation_id=3, leader=ana)


def test_story_g5_old_member_first_has_the_newcomer_start_the_next(
    stage: Stage, ana: Actor, bo: Actor, cy: Actor
) -> None:
    """Bo is back first and completes the join; Cy enters in Completing and starts the next rebalance."""
    stage.stable(ana, bo)
    ana.joins()
    stage.shows(PREPARING, members=2)
    bo.joins().joined(generation_id=3, leader=ana)
    ana.joined(generation_id=3, leader=ana)
    stage.shows(COMPLETING, members=2)
    cy.enters()
    stage.shows(PREPARING, members=3)
    for actor in (ana, bo):
        actor.joins()
    for actor in (ana, bo, cy):
        actor.joined(generation_id=4, leader=ana)


def test_story_g6_lost_join_answer_of_a_follower(stage: Stage, ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy's connection breaks behind its join. The others are Stable without it; it asks again, and is answered at once:
    no rebalance, no other generation. Then it syncs, and has its assignment at once too.
    """
    stage.stable(ana, bo, cy)
    ana.joins()
    stage.shows(PREPARING, members=3)
    bo.joins()
    cy.joins().loses_its_connection()
    ana.joined(generation_id=3, leader=ana)  # so Cy's join has come, the last of three
    bo.joined(generation_id=3, leader=ana)
    bo.syncs()
    ana.syncs({ana: b"a", bo: b"b", cy: b"c"}).synced(b"a")
    bo.synced(b"b")
    stage.shows(STABLE, members=3)
    answer = cy.joins().joined(generation_id=3, leader=ana)
    assert answer.members == []
    stage.shows(STABLE, members=3)
    cy.syncs().synced(b"c")
    for actor in (ana, bo, cy):
        actor.beats().is_answered()


def test_story_g7_lost_join_answer_of_the_leader(stage: Stage, ana: Actor, bo: Actor, cy: Actor) -> None:
    """Ana leads and its connection broke. The others' syncs wait for it. It gets the same answer again, with all the
    members; its sync answers everybody.
    """
    stage.stable(ana, bo, cy)
    ana.joins()
    stage.shows(PREPARING, members=3)
    ana.loses_its_connection()
    for actor in (bo, cy):
        actor.joins()
    for actor in (bo, cy):
        actor.joined(generation_id=3, leader=ana)
        actor.syncs()
    stage.shows(COMPLETING, members=3)
    answer = ana.joins().joined(generation_id=3, leader=ana)
    assert {member.member_id for member in answer.members} == {actor.member_id for actor in (ana, bo, cy)}
    stage.shows(COMPLETING, members=3)
    assert bo.is_parked
    assert cy.is_parked
    ana.syncs({ana: b"a", bo: b"b", cy: b"c"}).synced(b"a")
    bo.synced(b"b")
    cy.synced(b"c")
    stage.shows(STABLE, members=3)


def test_story_g8_lost_sync_answer(stage: Stage, ana: Actor, bo: Actor) -> None:
    """Bo's connection broke after its sync; it syncs again and has the same assignment. So does the leader."""
    stage.joining(ana, bo)
    bo.syncs()
    stage.shows(COMPLETING, members=2)
    bo.loses_its_connection()
    ana.syncs({ana: b"a", bo: b"b"}).synced(b"a")
    stage.shows(STABLE, members=2)
    bo.syncs().synced(b"b")
    ana.syncs({ana: b"not now", bo: b"any more"}).synced(b"a")
    stage.shows(STABLE, members=2)
    for actor in (ana, bo):
        actor.beats().is_answered()


def test_story_g9_unknown_versus_known_member(stage: Stage, ana: Actor, bo: Actor) -> None:
    """Without an id one is handed out, and then known; an id the group never issued is not. Before v4 the id comes with
    the generation.
    """
    ana.joins().is_given_id()
    assert ana.member_id.startswith("ana-")
    ana.joins().joined(generation_id=1, leader=ana)
    bo.member_id = "made up"
    bo.joins().is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
    bo.beats().is_answered(ErrorCode.UNKNOWN_MEMBER_ID)
    bo.member_id = ""
    bo.joins(version=3)
    stage.shows(PREPARING, members=2)
    ana.joins().joined(generation_id=2, leader=ana)
    assert bo.hears().member_id.startswith("bo-")

"""The stories of groups, told to the pure core under a clock that stands still."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from ottla.coordinator.classic.records import group_record, group_tombstone, new_group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.timers import JOIN_TIMER
from ottla.coordinator.offsets.events import DeleteRequested, SweepDue
from ottla.coordinator.runtime.effects import Arm, Disarm, Ended
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.testing.playbook import At, Is, Playbook
from tests.coordinator.actors import ORDERS, Actor, Answer, Name, bring_in, make_stable, new_group, protocols

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


# ── G: how a group moves between states ───────────────────────────────────────────────────────────────────────────────


def test_story_g1_regular_cycle(ana: Actor, bo: Actor) -> None:
    """Two consumers, one after the other: two rebalances, generations 1 and 2, each Preparing, Completing, Stable."""
    assert (
        Playbook(new_group())
        >> ana.joins()
        << ana.is_given_id()
        << Is(EMPTY)
        >> ana.joins()
        << Is(PREPARING)
        >> At(3_000)
        << ana.joined(generation_id=1, leader=ana)
        << Is(COMPLETING)
        >> ana.syncs({ana: b"all"})
        << ana.synced(b"all")
        << Is(STABLE)
        >> bo.joins()
        << bo.is_given_id()
        << Is(STABLE)
        >> bo.joins()
        << Is(PREPARING)
        >> ana.beats()
        << ana.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
        << Is(COMPLETING)
        >> bo.syncs()
        >> ana.syncs({ana: b"a", bo: b"b"})
        << ana.synced(b"a")
        << bo.synced(b"b")
        << Is(STABLE)
    )


def test_story_g2_newcomer_while_completing(ana: Actor, bo: Actor) -> None:
    """Ana has not synced when Bo joins: straight back to Preparing, and one more generation for both."""
    group = new_group()
    bring_in(group, ana)
    assert (
        Playbook(group)
        << Is(COMPLETING)
        >> bo.joins()
        << bo.is_given_id()
        << Is(COMPLETING)
        >> bo.joins()
        << Is(PREPARING)
        >> ana.syncs({ana: b"all"})
        << ana.is_refused("sync", ErrorCode.REBALANCE_IN_PROGRESS)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
        << Is(COMPLETING)
    )


def test_story_g3_newcomer_while_preparing(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy joins before Ana is back: no further state, no second timer; it is one more that Ana completes."""
    group = new_group()
    make_stable(group, ana)
    bo.version = cy.version = 3
    assert (
        Playbook(group, timers=True)
        >> bo.joins()
        << Arm("heartbeat-bo-2", 300_000)
        << Arm(JOIN_TIMER, 60_000)
        << Is(PREPARING)
        >> cy.joins()
        << Arm("heartbeat-cy-3", 300_000)  # its own session, and no other timer
        << Is(PREPARING)
    )
    assert (
        Playbook(group)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
        << cy.joined(generation_id=2, leader=ana)
        << Is(COMPLETING)
    )


@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_story_g4_one_delayed_join_per_rebalance(order: tuple[int, ...]) -> None:
    """In whatever order three members come back, the join timer is armed once and stopped once, by the last."""
    group = new_group()
    members = [Actor("ana"), Actor("bo"), Actor("cy")]
    make_stable(group, *members)
    dee = Actor("dee", version=3)
    book = Playbook(group, timers=True) >> dee.joins() << Arm("heartbeat-dee-4", 300_000) << Arm(JOIN_TIMER, 60_000)
    first, second, last = (members[index] for index in order)
    assert book >> first.joins() >> second.joins() << Is(PREPARING)
    answered = Playbook(group, timers=True) >> last.joins() << Disarm(JOIN_TIMER)
    for number, actor in enumerate([*members, dee], start=1):
        answered = (
            answered
            << actor.joined(generation_id=2, leader=members[0])
            << Arm(f"heartbeat-{actor.name}-{number}", 10_000)
        )
    assert answered << Arm("sync", 60_000) << Is(COMPLETING)


def test_story_g4_a_join_that_completes_at_once_leaves_nothing_watched(ana: Actor) -> None:
    """The only member joins again: the join phase is over as it begins, and no join timer was ever armed."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group, timers=True)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
        << Arm("heartbeat-ana-1", 10_000)
        << Arm("sync", 60_000)
        << Is(COMPLETING)
    )


def test_story_g5_newcomer_first_finds_preparing(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy joins before Ana and Bo are back, so all of them are in one generation."""
    group = new_group()
    make_stable(group, ana, bo)
    cy.version = 3
    assert (
        Playbook(group)
        >> ana.joins()
        << Is(PREPARING)
        >> cy.joins()
        << Is(PREPARING)
        >> bo.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
        << cy.joined(generation_id=2)
    )


def test_story_g5_old_member_first_has_the_newcomer_start_the_next(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Bo is back first and completes the join; Cy enters in Completing and starts the next rebalance."""
    group = new_group()
    make_stable(group, ana, bo)
    cy.version = 3
    assert (
        Playbook(group)
        >> ana.joins()
        >> bo.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
        << Is(COMPLETING)
        >> cy.joins()
        << Is(PREPARING)
        >> ana.joins()
        >> bo.joins()
        << ana.joined(generation_id=3)
        << bo.joined(generation_id=3)
        << cy.joined(generation_id=3)
    )


def test_story_g6_lost_join_answer_of_a_follower(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy never got its answer. The others are Stable without it; its second JoinGroup changes nothing for them."""
    group = new_group()
    bring_in(group, ana, bo, cy)
    assert (
        Playbook(group)
        >> bo.syncs()
        >> ana.syncs({ana: b"a", bo: b"b", cy: b"c"})
        << ana.synced(b"a")
        << bo.synced(b"b")
        << Is(STABLE)
        >> cy.joins()
        << cy.joined(generation_id=1, leader=ana)
        << Is(STABLE)
        >> cy.syncs()
        << cy.synced(b"c")
        << Is(STABLE)
    )


def test_story_g7_lost_join_answer_of_the_leader(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Ana leads and never got its answer. It gets the same again, with all members; its sync answers everybody."""
    group = new_group()
    bring_in(group, ana, bo, cy)
    assert (
        Playbook(group)
        >> bo.syncs()
        >> cy.syncs()
        << Is(COMPLETING)
        >> ana.joins()
        << ana.joined(generation_id=1, leader=ana)
        << Is(COMPLETING)
        >> ana.syncs({ana: b"a", bo: b"b", cy: b"c"})
        << ana.synced(b"a")
        << bo.synced(b"b")
        << cy.synced(b"c")
        << Is(STABLE)
    )


def test_story_g8_lost_sync_answer(ana: Actor, bo: Actor) -> None:
    """Whoever syncs again in Stable gets the same assignment at once, the leader too, and nothing else happens."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group, timers=True, writes=True)
        >> bo.syncs()
        << bo.synced(b"bo")
        >> ana.syncs({ana: b"other"})
        << ana.synced(b"ana")
        << Is(STABLE)
    )


def test_story_g9_unknown_versus_known_member(ana: Actor) -> None:
    """Without an id one is handed out, and then known; an id the group never issued is not."""
    made_up = Actor("made up")
    made_up.member_id = "made up"
    assert (
        Playbook(new_group())
        >> ana.joins()
        << ana.is_given_id()
        >> made_up.joins()
        << made_up.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID, member_id="made up")
        << Is(EMPTY)
        >> ana.joins()
        << Is(PREPARING)
        >> made_up.joins()
        << made_up.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID, member_id="made up")
        >> At(3_000)
        << ana.joined(generation_id=1)
    )


# ── J: completing a join ──────────────────────────────────────────────────────────────────────────────────────────────


def test_story_j1_who_did_not_rejoin_is_removed_unless_static(ana: Actor, bo: Actor) -> None:
    """Dynamic members that did not come back are removed, their timers with them; static ones stay."""
    group = new_group()
    cy = Actor("cy", group_instance_id="cy's", session_timeout_ms=100_000)
    ana.session_timeout_ms = bo.session_timeout_ms = 100_000
    make_stable(group, ana, bo, cy)
    book = Playbook(group)
    assert (
        book >> ana.joins() << Is(PREPARING) >> At(60_000) << ana.joined(generation_id=2, leader=ana) << Is(COMPLETING)
    )
    assert list(group.members) == [ana.member_id, cy.member_id]
    assert book.timers.keys() == {"heartbeat-ana-1", "heartbeat-cy's-3", "sync"}
    assert Playbook(group) >> bo.beats() << bo.is_answered(ErrorCode.UNKNOWN_MEMBER_ID)


def test_story_j2_a_rejoined_member_is_elected(ana: Actor, bo: Actor, cy: Actor) -> None:
    """The leader did not come back, so one that did leads."""
    group = new_group()
    for actor in (ana, bo, cy):
        actor.session_timeout_ms = 100_000
    make_stable(group, ana, bo, cy)
    dee = Actor("dee", version=3)
    assert (
        Playbook(group)
        >> dee.joins()
        >> cy.joins()
        >> At(60_000)
        << cy.joined(generation_id=2, leader=cy)
        << dee.joined(generation_id=2, leader=cy)
    )


def test_story_j2_all_static_and_nobody_back_waits_on() -> None:
    """Static members that are away hold the group in Preparing, round after round, until their sessions end."""
    group = new_group()
    ana = Actor("ana", group_instance_id="ana's", session_timeout_ms=200_000)
    bo = Actor("bo", group_instance_id="bo's", session_timeout_ms=10_000)
    make_stable(group, ana, bo)
    book = Playbook(group)
    assert book >> At(10_000) << Is(PREPARING)  # Bo's session ended
    assert book >> At(190_000) << Is(PREPARING)
    assert group.generation_id == 1
    assert book.timers["join"] == 250_000  # 10, 70, 130, 190, 250 s
    assert book >> At(200_000) << Is(EMPTY)
    assert group.generation_id == 2


def test_story_j3_the_generation_grows_by_one_also_into_empty(ana: Actor) -> None:
    """The Empty group is written down; without offsets the next sweep removes it, by a tombstone."""
    group = new_group()
    book = Playbook(group)
    assert book >> ana.joins() << ana.is_given_id() >> ana.joins() >> At(3_000) << ana.joined(generation_id=1)
    assert book >> ana.leaves() << ana.left() << Is(EMPTY)
    assert group.generation_id == 2
    assert group.leader_id is None
    assert book.log[-1] == group_record(group)
    assert book >> SweepDue() << Ended()
    assert book.log[-1] == group_tombstone("group")


def test_story_j4_only_the_leader_sees_the_members(ana: Actor, bo: Actor) -> None:
    """Leader, generation, protocol type and name are the same for all; the members and their metadata are not."""
    group = new_group()
    bo.group_instance_id = "bo's"
    bo.protocols = protocols("range", metadata=b"bo says")
    member = JoinGroupResponse.JoinGroupResponseMember
    same = {"generation_id": 1, "protocol_type": "consumer", "protocol_name": "range", "leader": "ana-1"}
    everybody = [member("ana-1", None, ORDERS), member("bo's-2", "bo's", b"bo says")]
    assert (
        Playbook(group)
        >> ana.joins()
        << ana.is_given_id()
        >> ana.joins()
        >> bo.joins()
        >> At(6_000)
        << Answer(Name("ana join"), {"members": everybody, "member_id": "ana-1", **same})
        << Answer(Name("bo join"), {"members": [], "member_id": "bo's-2", **same})
    )


def test_story_j5_sessions_start_anew_with_the_join_answer(ana: Actor) -> None:
    """The five minutes of a newcomer end when it is answered; its session timeout counts from then."""
    assert (
        Playbook(new_group(is_unwritten=False), timers=True)
        >> ana.joins(version=3)
        << Arm("heartbeat-ana-1", 300_000)
        << Arm(JOIN_TIMER, 3_000)
        >> At(3_000)
        << ana.joined()
        << Arm("heartbeat-ana-1", 13_000)
        << Arm("sync", 63_000)
    )


# ── P: choosing the protocol ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lists", "chosen"),
    [
        ([["range", "roundrobin"], ["roundrobin", "range"], ["roundrobin", "range"]], "roundrobin"),
        ([["range", "roundrobin"], ["roundrobin"]], "roundrobin"),  # range is no candidate
        ([["range", "roundrobin"], ["roundrobin", "range"]], "range"),  # a tie: as Java hashes
        ([["roundrobin", "sticky"], ["sticky", "roundrobin"]], "sticky"),
        ([["a", "b", "c"], ["c", "b", "a"], ["b", "x"]], "b"),
    ],
    ids=["most votes", "only candidates", "tie", "other tie", "one in common"],
)
def test_story_p1_votes_decide(lists: list[list[str]], chosen: str) -> None:
    """Each votes for the first of its own list that all support; the most votes win."""
    group = new_group()
    actors = [Actor(f"member {number}", *names, version=3) for number, names in enumerate(lists)]
    bring_in(group, *actors)
    assert group.protocol_name == chosen


def test_story_p2_a_third_with_other_protocols_is_refused() -> None:
    """Two do sticky; one that does only cooperative-sticky is refused, and the two keep working."""
    group = new_group()
    ana, bo, cy = Actor("ana", "sticky"), Actor("bo", "sticky"), Actor("cy", "cooperative-sticky")
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> cy.joins()
        << cy.is_refused("join", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        << Is(STABLE)
        >> ana.beats()
        << ana.is_answered(ErrorCode.NONE)
        >> bo.beats()
        << bo.is_answered(ErrorCode.NONE)
    )


@pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": []}], ids=["no type", "no protocols"])
def test_story_p3_nothing_in_common(ana: Actor, fields: dict[str, Any]) -> None:
    """No type or no protocols on the first join, or another type than the group's: refused."""
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    group = new_group()
    assert Playbook(group) >> ana.joins(**fields) << ana.is_refused("join", inconsistent) << Is(EMPTY)
    make_stable(group, ana)
    bo = Actor("bo", protocol_type="connect")
    assert Playbook(group) >> bo.joins() << bo.is_refused("join", inconsistent) << Is(STABLE)


def test_story_p4_first_member_names_a_protocol_twice() -> None:
    """It counts as two that support it, so nobody does: the generation grows, no protocol is found, the group is stuck.

    A second member that names it once is refused. Only when the first goes, after its five minutes, is there a way on.
    """
    group = new_group()
    ana, bo = Actor("ana", "range", "range", version=3), Actor("bo", "range", version=3)
    assert (
        Playbook(group)
        >> ana.joins()
        >> At(3_000)
        << Is(PREPARING)
        >> bo.joins()
        << bo.is_refused("join", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        >> At(300_000)
        << ana.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID)
        << Is(EMPTY)
    )
    assert group.generation_id == 2


def test_story_p4_second_member_names_a_protocol_twice() -> None:
    """It may join, since the first supports it, and makes it three that do: again nobody finds a protocol."""
    group = new_group()
    ana, bo = Actor("ana", "range"), Actor("bo", "range", "range", version=3)
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> bo.joins()
        << Is(PREPARING)
        >> ana.joins()
        << ana.is_refused("join", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        << Is(PREPARING)
        >> ana.leaves()
        << ana.is_refused("leave", ErrorCode.UNKNOWN_SERVER_ERROR)
        << Is(PREPARING)
    )


def test_story_p4_who_names_another_once_has_that_chosen() -> None:
    """A protocol named twice is no candidate; one named once beside it is."""
    group = new_group()
    bring_in(group, Actor("ana", "range", "range", "sticky", version=3))
    assert group.protocol_name == "sticky"


def test_story_p4_the_join_that_gets_the_group_stuck_is_told() -> None:
    """Ana alone joins again, naming its protocol twice: an unknown error, as the exception becomes in Kafka."""
    group = new_group()
    ana = Actor("ana", "range")
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> ana.joins(protocols=protocols("range", "range"))
        << ana.is_refused("join", ErrorCode.UNKNOWN_SERVER_ERROR, member_id="")
        << Is(PREPARING)
        >> At(10_000)
        << Is(EMPTY)
    )


# ── C: what a consumer's client relies on ─────────────────────────────────────────────────────────────────────────────


def test_story_c1_a_paused_client_is_expelled_and_joins_anew(ana: Actor, bo: Actor) -> None:
    """After session_timeout_ms without a sign, every request is answered UNKNOWN_MEMBER_ID, until it joins anew."""
    group = new_group()
    make_stable(group, ana, bo)
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert (
        Playbook(group)
        >> At(9_000)
        >> ana.beats()
        << ana.is_answered(ErrorCode.NONE)
        >> At(10_000)
        << Is(PREPARING)
        >> bo.beats()
        << bo.is_answered(unknown)
        >> bo.syncs()
        << bo.is_refused("sync", unknown)
        >> bo.commits({("orders", 0): 5})
        << bo.committed(unknown)
        >> bo.joins()
        << bo.is_refused("join", unknown)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
    )
    bo.member_id = ""
    assert Playbook(group, now_ms=10_000) >> bo.joins() << bo.is_given_id() >> bo.joins() << Is(PREPARING)


def test_story_c2_an_older_generation_is_refused(ana: Actor) -> None:
    """A request from an older generation is answered ILLEGAL_GENERATION."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> ana.beats(generation_id=0)
        << ana.is_answered(ErrorCode.ILLEGAL_GENERATION)
        >> ana.syncs(generation_id=0)
        << ana.is_refused("sync", ErrorCode.ILLEGAL_GENERATION)
        >> ana.commits({("orders", 0): 1}, generation_id_or_member_epoch=0)
        << ana.committed(ErrorCode.ILLEGAL_GENERATION)
    )


def test_story_c3_commit_and_leave_on_close(ana: Actor, bo: Actor) -> None:
    """Bo commits and leaves; the rest of the group rebalances at once, not after a timeout."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> bo.commits({("orders", 0): 7})
        << bo.committed()
        >> bo.leaves()
        << bo.left()
        << Is(PREPARING)
        >> ana.beats()
        << ana.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
    )
    assert group.offsets.committed["orders"][0].offset == 7


# ── What is left of a group ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_group_is_written_as_if_nobody_had_joined(ana: Actor) -> None:
    """Even when the join that created it was refused, it is there, Empty, until somebody deletes it."""
    group = new_group()
    book = Playbook(group)
    assert book >> ana.joins(protocols=[]) << ana.is_refused("join", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert book.log == [new_group_record(group)]
    deleted = Name("delete")
    assert book >> DeleteRequested(deleted) << Answer(deleted, {"error_code": 0}) << Ended()

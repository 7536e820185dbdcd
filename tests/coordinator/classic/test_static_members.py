"""Static membership: members that are recognised by their group instance id, and may restart (KIP-345)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ottla.coordinator.classic.records import group_record
from ottla.coordinator.classic.restart import StaticMemberWritten
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.timers import JOIN_TIMER
from ottla.coordinator.groups.shard import GroupShard
from ottla.coordinator.runtime.effects import Append, Arm, Disarm, Effect
from ottla.coordinator.runtime.events import Loaded, TimerExpired
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, NotWritten, Playbook, Written
from tests.coordinator.actors import Actor, Answer, Name, bring_in, make_stable, new_group, perform, protocols

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
FENCED = ErrorCode.FENCED_INSTANCE_ID


@pytest.fixture
def ana() -> Actor:
    return Actor("ana", group_instance_id="ana's")


@pytest.fixture
def bo() -> Actor:
    return Actor("bo", group_instance_id="bo's")


class RestartAppended:
    """Expected: the record of a group in which a static member restarted."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, StaticMemberWritten)


def test_a_static_member_needs_no_id_first(ana: Actor) -> None:
    """It is parked at once; its id begins with its group instance id."""
    assert (
        Playbook(new_group())
        >> ana.joins()
        << Is(PREPARING)
        >> At(3_000)
        << ana.joined(member_id="ana's-1", leader=ana)
    )


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_restart_in_stable_does_not_rebalance(ana: Actor, bo: Actor, who: str) -> None:
    """A new id for the same member, written down; the answer waits for that. Then it syncs its old assignment."""
    group = new_group()
    make_stable(group, ana, bo)
    actor = ana if who == "leader" else bo
    former = actor.member_id
    actor.member_id = ""
    book = Playbook(group, writes=True)
    assert (
        book
        >> actor.joins()
        << RestartAppended()
        << Is(STABLE)
        >> Written()
        << actor.joined(generation_id=1, leader=ana if who == "follower" else None)
        << Is(STABLE)
        >> actor.syncs()
        << actor.synced(actor.name.encode())
    )
    assert actor.member_id != former
    assert former not in group.members
    assert book.log == [group_record(group)]
    assert group.members[actor.member_id].assignment == actor.name.encode()


def test_ids_differ_after_each_restart(ana: Actor) -> None:
    """Always a fresh one."""
    group = new_group()
    make_stable(group, ana)
    ids = [ana.member_id]
    for _ in range(3):
        ana.member_id = ""
        assert Playbook(group) >> ana.joins() << ana.joined()
        ids.append(ana.member_id)
    assert len(set(ids)) == 4


@pytest.mark.parametrize(
    ("version", "leader", "skips", "sees"),
    [(8, "ana's-1", False, 0), (9, "ana's-3", True, 2)],
)
def test_what_a_restarted_leader_is_told(
    ana: Actor, bo: Actor, version: int, leader: str, skips: bool, sees: int
) -> None:
    """From v9 on that it leads, and need not assign; before, that its former self leads, so it just syncs (KIP-814)."""
    group = new_group()
    make_stable(group, ana, bo)
    ana.member_id = ""
    (reply,) = perform(group, 0, ana.joins(version=version)())
    response = reply.response
    assert (response.leader, response.skip_assignment) == (leader, skips)  # type: ignore[attr-defined]
    assert len(response.members) == sees  # type: ignore[attr-defined]
    assert group.leader_id == "ana's-3"


def test_a_restarted_follower_skips_nothing(ana: Actor, bo: Actor) -> None:
    """It sees no members and is told who leads."""
    group = new_group()
    make_stable(group, ana, bo)
    bo.member_id = ""
    told = {"leader": "ana's-1", "skip_assignment": False, "members": [], "member_id": "bo's-3", "generation_id": 1}
    assert Playbook(group) >> bo.joins() << Answer(Name("bo join"), told)


def test_the_old_session_timeout_goes_on_until_the_restarted_member_beats(ana: Actor) -> None:
    """Its timer is armed with the session timeout it had, for the id it has; the old id's stops."""
    group = new_group()
    make_stable(group, ana)
    ana.member_id, ana.session_timeout_ms = "", 30_000
    assert (
        Playbook(group, timers=True, now_ms=100)
        >> ana.joins()
        << Disarm("heartbeat-ana's-1")
        << Arm("heartbeat-ana's-2", 10_100)
        << ana.joined()
        >> ana.beats()
        << Arm("heartbeat-ana's-2", 30_100)
        << ana.is_answered(ErrorCode.NONE)
    )


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_restart_that_cannot_be_written_is_taken_back(
    ana: Actor, bo: Actor, failure: ErrorCode, answer: ErrorCode
) -> None:
    """The old id, timeouts and protocols count again; the answer has the generation with the error."""
    group = new_group()
    make_stable(group, ana, bo)
    former = bo.member_id
    bo.member_id = ""
    told = {
        "error_code": answer,
        "member_id": "",
        "generation_id": 1,
        "leader": "ana's-1",
        "protocol_name": "range",
        "protocol_type": "consumer",
        "members": [],
        "skip_assignment": False,
    }
    assert (
        Playbook(group, writes=True)
        >> bo.joins(session_timeout_ms=99_000, protocols=protocols("range", "sticky"))
        << RestartAppended()
        >> NotWritten(failure)
        << Answer(Name("bo join"), told)
        << Is(STABLE)
    )
    member = group.members[former]
    assert (member.session_timeout_ms, member.protocols) == (10_000, protocols("range"))
    assert member.parked_join is None
    bo.member_id = former
    assert Playbook(group) >> bo.beats() << bo.is_answered(ErrorCode.NONE)


def test_a_restart_that_changes_the_chosen_protocol_rebalances(ana: Actor, bo: Actor) -> None:
    """With what it supports now the group would choose another protocol."""
    group = new_group()
    ana.protocols = protocols("range", "sticky")
    bo.protocols = protocols("range", "sticky")
    make_stable(group, ana, bo)
    bo.member_id = ""
    assert (
        Playbook(group)
        >> bo.joins(protocols=protocols("sticky"))
        << Is(PREPARING)
        >> ana.joins()
        << ana.joined(generation_id=2, protocol_name="sticky")
        << bo.joined(generation_id=2)
    )


def test_a_restart_with_other_protocols_and_the_same_choice_is_only_written(ana: Actor, bo: Actor) -> None:
    """Two votes for range are still more than one for sticky."""
    group = new_group()
    cy = Actor("cy", group_instance_id="cy's")
    for actor in (ana, bo, cy):
        actor.protocols = protocols("range", "sticky")
    make_stable(group, ana, bo, cy)
    bo.member_id = ""
    changed = protocols("sticky", "range", metadata=b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff")
    assert Playbook(group) >> bo.joins(protocols=changed) << bo.joined(generation_id=1) << Is(STABLE)
    assert group.members[bo.member_id].protocols == changed


def test_a_restart_that_leaves_no_protocol_is_an_unknown_error(ana: Actor) -> None:
    """It names its protocol twice; Kafka throws an exception."""
    group = new_group()
    make_stable(group, ana)
    ana.member_id = ""
    assert (
        Playbook(group)
        >> ana.joins(protocols=protocols("range", "range"))
        << ana.is_refused("join", ErrorCode.UNKNOWN_SERVER_ERROR)
        << Is(STABLE)
    )


def test_a_restart_in_completing_rebalances(ana: Actor, bo: Actor) -> None:
    """The leader may have the old id already, and would assign to nobody."""
    group = new_group()
    bring_in(group, ana, bo)
    bo.member_id = ""
    assert Playbook(group) >> ana.syncs() << ana.synced(b"") << Is(STABLE)
    group = new_group()
    ana.member_id = bo.member_id = ""
    bring_in(group, ana, bo)
    bo.member_id = ""
    assert (
        Playbook(group)
        >> bo.joins()
        << Is(PREPARING)
        >> ana.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
    )


def test_a_restart_in_preparing_may_complete_the_join(ana: Actor, bo: Actor) -> None:
    """Bo, who was missing, comes back under another id."""
    group = new_group()
    make_stable(group, ana, bo)
    bo.member_id = ""
    assert (
        Playbook(group)
        >> ana.joins()
        << Is(PREPARING)
        >> bo.joins()
        << ana.joined(generation_id=2, leader=ana)
        << bo.joined(generation_id=2, leader=ana)
    )


def test_parked_requests_of_the_one_that_is_replaced_are_fenced(ana: Actor, bo: Actor) -> None:
    """A JoinGroup, with the id it had; a SyncGroup."""
    group = new_group()
    make_stable(group, ana, bo)
    twin = Actor("twin", group_instance_id="bo's")
    assert (
        Playbook(group)
        >> bo.joins(protocols=protocols("range", metadata=b"new"))
        << Is(PREPARING)
        >> twin.joins()
        << bo.is_refused("join", FENCED, member_id="bo's-2", leader="", protocol_name=None)
        >> ana.joins()
        << ana.joined(generation_id=2)
        << twin.joined(generation_id=2)
        >> twin.syncs()
        >> bo.joins(member_id="")
        << twin.is_refused("sync", FENCED)
        << Is(PREPARING)
    )


def test_whoever_still_uses_the_old_id_is_fenced(ana: Actor, bo: Actor) -> None:
    """In every request, whichever member it is."""
    group = new_group()
    make_stable(group, ana, bo)
    twin = Actor("twin", group_instance_id="ana's")
    assert (
        Playbook(group)
        >> twin.joins()
        << twin.joined(generation_id=1)
        >> ana.joins()
        << ana.is_refused("join", FENCED, member_id="ana's-1")
        >> ana.syncs()
        << ana.is_refused("sync", FENCED)
        >> ana.beats()
        << ana.is_answered(FENCED)
        >> ana.commits({("orders", 0): 1})
        << ana.committed(FENCED)
        >> ana.leaves()
        << ana.left(FENCED)
        << Is(STABLE)
    )


def test_made_up_and_mismatched_names(ana: Actor, bo: Actor) -> None:
    """A known instance with a made-up id is fenced; an instance nobody has is unknown, whatever the id."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> ana.joins(member_id="made up")
        << ana.is_refused("join", FENCED, member_id="made up")
        >> bo.joins(group_instance_id="ana's")
        << bo.is_refused("join", FENCED)
        >> ana.joins(group_instance_id="bo's")
        << ana.is_refused("join", FENCED)
        >> bo.joins(group_instance_id="nobody's")
        << bo.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID)
        << Is(STABLE)
    )


def test_known_members_join_as_anybody_does(ana: Actor, bo: Actor) -> None:
    """A follower that has not changed changes nothing; the leader rebalances; so does a follower that has."""
    group = new_group()
    make_stable(group, ana, bo)
    assert Playbook(group, writes=True) >> bo.joins() << bo.joined(generation_id=1) << Is(STABLE)
    assert (
        Playbook(group)
        >> ana.joins()
        << Is(PREPARING)
        >> bo.joins(protocols=protocols("range", metadata=b"new"))
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )


def test_a_static_member_may_name_itself_by_its_member_id_alone(ana: Actor, bo: Actor) -> None:
    """The group instance id is needed only by who has no member id."""
    group = new_group()
    make_stable(group, ana, bo)
    assert Playbook(group) >> bo.beats(group_instance_id=None) << bo.is_answered(ErrorCode.NONE)
    assert Playbook(group) >> bo.joins(group_instance_id=None) << bo.joined(generation_id=1)


def test_a_restart_after_everybody_left_joins_as_new(ana: Actor) -> None:
    """In an Empty group nobody is known; in a dead one there is no coordinator."""
    group = new_group()
    make_stable(group, ana)
    perform(group, 0, ana.leaves()())
    assert Playbook(group) >> ana.joins() << ana.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID) << Is(EMPTY)
    assert Playbook(group) >> ana.joins(member_id="") << Is(PREPARING)


# ── Members that are away ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_absent_follower_is_kept_and_moved_to_the_new_generation(ana: Actor, bo: Actor) -> None:
    """It shows in the leader's list; its next heartbeat tells it that it is a generation behind."""
    group = new_group()
    ana.session_timeout_ms = bo.session_timeout_ms = 100_000
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> ana.joins()
        << Is(PREPARING)
        >> At(60_000)
        << ana.joined(generation_id=2, leader=ana)
        >> bo.beats()
        << bo.is_answered(ErrorCode.ILLEGAL_GENERATION)
        << Is(COMPLETING)
    )
    assert group.members.keys() == {ana.member_id, bo.member_id}


def test_an_absent_members_session_ends_in_the_new_generation_too(ana: Actor, bo: Actor) -> None:
    """Bo beats but does not rejoin. Its session begins anew with the generation; when it ends there is a rebalance."""
    group = new_group()
    make_stable(group, ana, bo)
    book = Playbook(group) >> ana.joins()
    for now_ms in range(5_000, 60_000, 5_000):
        book = book >> At(now_ms) >> bo.beats() << bo.is_answered(ErrorCode.REBALANCE_IN_PROGRESS)
    assert (
        book
        >> At(60_000)
        << ana.joined(generation_id=2)
        >> ana.syncs({ana: b"all"})
        << ana.synced(b"all")
        >> At(69_000)
        >> ana.beats()
        << ana.is_answered(ErrorCode.NONE)
        << Is(STABLE)
        >> At(70_000)
        << Is(PREPARING)
    )
    assert list(group.members) == [ana.member_id]


def test_an_absent_leader_is_kept_as_a_member(ana: Actor, bo: Actor) -> None:
    """Another one, that is back, leads."""
    group = new_group()
    ana.session_timeout_ms = bo.session_timeout_ms = 100_000
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> bo.joins(protocols=protocols("range", metadata=b"new"))
        << Is(PREPARING)
        >> At(60_000)
        << bo.joined(generation_id=2, leader=bo)
    )
    assert group.members.keys() == {ana.member_id, bo.member_id}


@pytest.mark.parametrize(("asked_ms", "waits_ms"), [(-1, 1_000), (0, 1_000), (1_001, 1_001)])
def test_absent_members_are_not_awaited_in_circles(asked_ms: int, waits_ms: int) -> None:
    """A static member that is away, and a rebalance timeout of nothing: Kafka's coordinator looks again at once, for
    as long as the session lasts. Here a second lies between."""
    dan = Actor("dan", group_instance_id="dan's", rebalance_timeout_ms=asked_ms)
    eve = Actor("eve", version=3, rebalance_timeout_ms=asked_ms)
    group = new_group()
    make_stable(group, dan)
    perform(group, 0, eve.joins()())
    eve.member_id = list(group.members)[-1]
    perform(group, 0, eve.leaves()())
    assert group.state is PREPARING
    assert Playbook(group, timers=True) >> TimerExpired(JOIN_TIMER) << Arm(JOIN_TIMER, waits_ms)


def test_a_sync_owed_by_a_replaced_id_stays_owed(ana: Actor, bo: Actor) -> None:
    """Bo restarts before it synced, and syncs under its new id; the old id can't, so its time runs out: a rebalance.

    Nobody is missing, but so it is in Kafka: the set of those who owe a sync keeps the old id.
    """
    group = new_group()
    ana.session_timeout_ms = bo.session_timeout_ms = 100_000
    bring_in(group, ana, bo)
    perform(group, 0, ana.syncs({ana: b"a", bo: b"b"})())
    bo.member_id = ""
    assert (
        Playbook(group)
        >> bo.joins()
        << bo.joined(generation_id=1)
        >> bo.syncs()
        << bo.synced(b"b")
        << Is(STABLE)
        >> At(60_000)
        << Is(PREPARING)
    )
    assert group.members.keys() == {ana.member_id, bo.member_id}


# ── While the restart is being written ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS], ids=["written", "not written"])
def test_the_restarted_member_is_gone_before_it_is_written(ana: Actor, bo: Actor, error: ErrorCode) -> None:
    """It was answered when it was removed; nothing else happens, and the counts of protocols stay right."""
    group = new_group()
    make_stable(group, ana, bo)
    bo.member_id = ""
    assert (
        Playbook(group, writes=True)
        >> bo.joins()
        << RestartAppended()
        >> bo.leaves()
        << bo.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID, member_id="")
        << bo.left()
        << Is(PREPARING)
        >> (Written() if error is ErrorCode.NONE else NotWritten(error))
    )
    assert group.supported_protocols == {"range": 1}


def test_the_group_rebalances_before_a_followers_restart_is_written(ana: Actor, bo: Actor) -> None:
    """It is answered with the generation there is, and so is not back yet in the rebalance that began meanwhile."""
    group = new_group()
    make_stable(group, ana, bo)
    bo.member_id = ""
    cy = Actor("cy")
    assert (
        Playbook(group, writes=True)
        >> bo.joins()
        << RestartAppended()
        >> cy.joins()
        << cy.is_given_id()
        >> cy.joins()
        << Is(PREPARING)
        >> Written()
        << bo.joined(generation_id=1)
        << Is(PREPARING)
    )
    assert group.parked_joins == 1


def test_the_group_rebalances_before_a_leaders_restart_is_written(ana: Actor, bo: Actor) -> None:
    """It could not be shown any members now, so it waits for the rebalance, which it is in."""
    group = new_group()
    make_stable(group, ana, bo)
    ana.member_id = ""
    cy = Actor("cy", version=3)
    assert (
        Playbook(group, writes=True)
        >> ana.joins()
        << RestartAppended()
        >> cy.joins()
        << Is(PREPARING)
        >> Written()
        << Is(PREPARING)
        >> bo.joins()
        << bo.joined(generation_id=2)
        << ana.joined(generation_id=2, leader=ana)
        << cy.joined(generation_id=2)
    )


def test_a_failed_restart_is_taken_back_in_a_rebalance_too(ana: Actor, bo: Actor) -> None:
    """Bo's old id is a member of the rebalance that began meanwhile, and missing in it."""
    group = new_group()
    make_stable(group, ana, bo)
    former = bo.member_id
    bo.member_id = ""
    assert (
        Playbook(group, writes=True)
        >> bo.joins()
        << RestartAppended()
        >> ana.joins(protocols=protocols("range", metadata=b"new"))
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )
    assert former not in group.members
    group = new_group()
    ana.member_id = bo.member_id = ""
    cy = Actor("cy", group_instance_id="cy's")
    make_stable(group, ana, bo, cy)
    former = bo.member_id
    bo.member_id = ""
    assert (
        Playbook(group, writes=True)
        >> bo.joins()
        << RestartAppended()
        >> ana.joins()
        << Is(PREPARING)
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << bo.is_refused("join", ErrorCode.COORDINATOR_NOT_AVAILABLE, generation_id=1)
        << Is(PREPARING)
    )
    assert group.members[former].parked_join is None


def test_a_failed_restart_is_taken_back_when_the_rebalance_was_joined(ana: Actor, bo: Actor) -> None:
    """Bo's new id was told to sync, and owes it until the time is over: the old one can't give it for that."""
    group = new_group()
    ana.session_timeout_ms = bo.session_timeout_ms = 100_000
    make_stable(group, ana, bo)
    former = bo.member_id
    bo.member_id = ""
    assert (
        Playbook(group, writes=True)
        >> bo.joins()
        << RestartAppended()
        >> ana.joins(protocols=protocols("range", metadata=b"new"))
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
        << Is(COMPLETING)
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << Is(COMPLETING)
    )
    assert group.pending_syncs.keys() == {ana.member_id, bo.member_id}
    assert group.members.keys() == {ana.member_id, former}
    group.check()
    ana.generation_id = 2
    assert (
        Playbook(group)
        >> ana.syncs({ana: b"a", bo: b"b"})
        << ana.synced(b"a")
        << Is(STABLE)
        >> At(60_000)
        << Is(PREPARING)
    )
    group.check()


def test_the_twin_of_a_restarted_member_restarts_too(ana: Actor, bo: Actor) -> None:
    """Before the first restart is written; the first is fenced, the second answered."""
    group = new_group()
    make_stable(group, ana, bo)
    bo.member_id = ""
    assert (
        Playbook(group, writes=True)
        >> bo.joins(token="first")
        << RestartAppended()
        >> bo.joins(token="second")
        << Answer(Name("first"), {"error_code": FENCED})
        << RestartAppended()
        >> Written()
        >> Written()
        << bo.joined(token="second", generation_id=1)
        << Is(STABLE)
    )


def test_a_restart_survives_a_reload(ana: Actor, bo: Actor) -> None:
    """The record has the new id; whoever loads it knows the member by that."""
    group = new_group()
    make_stable(group, ana, bo)
    bo.member_id = ""
    book = Playbook(group)
    assert book >> bo.joins() << bo.joined(generation_id=1)
    shard = GroupShard(0, replace(group.config), 0)
    shard.replay_all(book.log)
    loaded = shard.machines["group"]
    assert Playbook(loaded) >> Loaded() >> bo.beats() << bo.is_answered(ErrorCode.NONE)

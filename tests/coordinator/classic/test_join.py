"""JoinGroup: who gets in, how many, and how long the others wait for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ottla.coordinator.classic.events import JoinRequested
from ottla.coordinator.classic.join import GroupWritten
from ottla.coordinator.classic.records import new_group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.classic.timers import JOIN_TIMER
from ottla.coordinator.runtime.effects import Append, Arm, Disarm, Effect, Ended
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, NotWritten, Playbook, Written
from tests.coordinator.actors import Actor, Answer, Name, bring_in, make_stable, new_group, perform, protocols

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


class NewGroupAppended:
    """Expected: the record of a new group is to be appended."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, GroupWritten)


# ── A new group ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_first_join_writes_the_new_group_and_does_not_wait_for_it(ana: Actor) -> None:
    """The id is handed out before the record is in the log."""
    group = new_group()
    book = Playbook(group, writes=True)
    assert book >> ana.joins() << ana.is_given_id() << NewGroupAppended() >> Written() << Is(EMPTY)
    assert book.log == [new_group_record(group)]


def test_group_that_cannot_be_written_never_was(ana: Actor) -> None:
    """Whoever is parked in it is told why, without a member id; the group is gone."""
    group = new_group()
    assert (
        Playbook(group, writes=True)
        >> ana.joins(version=3)
        << NewGroupAppended()
        >> NotWritten(ErrorCode.NOT_ENOUGH_REPLICAS)
        << ana.is_refused("join", ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id="")
        << Ended()
        << Is(GroupState.DEAD)
    )


@pytest.mark.parametrize(
    ("failure", "answer"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_FETCH_SIZE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.NETWORK_EXCEPTION, ErrorCode.NETWORK_EXCEPTION),
        (ErrorCode.POLICY_VIOLATION, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_a_failed_append_has_a_clients_name(ana: Actor, failure: ErrorCode, answer: ErrorCode) -> None:
    """What a log says is translated for clients; what has no translation is answered as it is."""
    book = Playbook(new_group(), writes=True) >> ana.joins(version=3) << NewGroupAppended() >> NotWritten(failure)
    assert book << ana.is_refused("join", answer) << Ended()


def test_ids_too_long_to_be_written_are_refused(ana: Actor) -> None:
    """A client id whose member id no record could hold: Kafka fails when it writes it, and answers the same."""
    group = new_group(is_unwritten=False)
    ana.name = "é" * 16_380
    assert (
        Playbook(group)
        >> ana.joins()
        << ana.is_refused("join", ErrorCode.UNKNOWN_SERVER_ERROR, member_id="")
        << Is(EMPTY)
    )
    assert not group.pending_joins


# ── Pending members ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_handed_out_ids_are_waited_for_as_long_as_a_session(ana: Actor) -> None:
    """The timer is the session timeout of the request; a join with the id replaces it by a member's."""
    assert (
        Playbook(new_group(is_unwritten=False), timers=True)
        >> ana.joins()
        << Arm("heartbeat-ana-1", 10_000)
        << ana.is_given_id()
        >> At(9_999)
        >> ana.joins()
        << Arm("heartbeat-ana-1", 309_999)
        << Arm(JOIN_TIMER, 12_999)
    )


def test_pending_id_with_bad_protocols_stays_pending(ana: Actor, bo: Actor) -> None:
    """It may come again with better ones."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> bo.joins()
        << bo.is_given_id()
        >> bo.joins(protocols=protocols("unheard of"))
        << bo.is_refused("join", ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        >> bo.joins()
        << Is(PREPARING)
    )


def test_a_rebalance_waits_for_a_pending_id_that_joins(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Everybody is back but Cy, who has only an id; its join completes the phase."""
    group = new_group()
    make_stable(group, ana)
    bo.version = 3
    assert (
        Playbook(group)
        >> cy.joins()
        << cy.is_given_id()
        >> bo.joins()
        >> ana.joins()
        << Is(PREPARING)
        >> cy.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
        << cy.joined(generation_id=2)
    )


def test_a_rebalance_waits_for_a_pending_id_until_its_time_is_up(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Cy never comes; its session timeout completes the phase."""
    group = new_group()
    make_stable(group, ana)
    bo.version = 3
    assert (
        Playbook(group)
        >> At(5_000)
        >> cy.joins(session_timeout_ms=6_000)
        << cy.is_given_id()
        >> bo.joins()
        >> ana.joins()
        >> At(10_999)
        << Is(PREPARING)
        >> At(11_000)
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )


def test_a_pending_id_that_never_joins_leaves_a_stable_group_alone(ana: Actor, bo: Actor) -> None:
    """No rebalance when it is handed out, none when it is forgotten."""
    group = new_group()
    make_stable(group, ana)
    book = Playbook(group) >> bo.joins() << bo.is_given_id() << Is(STABLE) >> At(9_000) >> ana.beats()
    assert book << ana.is_answered(ErrorCode.NONE) >> At(10_000) << Is(STABLE)
    assert not group.pending_joins


def test_pending_ids_do_not_count_as_members(ana: Actor, bo: Actor) -> None:
    """Neither for the size of the group nor for its being Empty."""
    group = new_group(group_max_size=1)
    for _ in range(3):
        assert perform(group, 0, bo.joins()())
    assert group.state is EMPTY
    assert len(group.pending_joins) == 3
    make_stable(group, ana)
    assert list(group.members) == [ana.member_id]


# ── Rejoining ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_another_order_of_protocols_is_a_change(ana: Actor, bo: Actor) -> None:
    """The list is ordered by preference."""
    group = new_group()
    ana.protocols = bo.protocols = protocols("range", "sticky")
    make_stable(group, ana, bo)
    assert Playbook(group) >> bo.joins(protocols=protocols("sticky", "range")) << Is(PREPARING)


def test_a_member_that_changes_keeps_its_client_id_and_host(ana: Actor) -> None:
    """Timeouts and protocols are the latest, the rest is what it said at first."""
    group = new_group()
    make_stable(group, ana)
    line = ana.joins(session_timeout_ms=20_000, rebalance_timeout_ms=5_000, protocols=protocols("sticky", "range"))
    event = line()
    assert isinstance(event, JoinRequested)
    perform(group, 0, replace(event, client_id="other", client_host="/other"))
    (member,) = group.members.values()
    assert (member.client_id, member.client_host) == ("ana", "/ana")
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (20_000, 5_000)
    assert group.supported_protocols == {"sticky": 1, "range": 1}


def test_the_first_of_two_joins_is_answered_at_once(ana: Actor, bo: Actor) -> None:
    """Kafka lets it hang; here it is told to look for the coordinator, which loses it nothing."""
    group = new_group()
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> ana.joins(token="first")
        >> ana.joins(token="second")
        << Answer(Name("first"), {"error_code": ErrorCode.COORDINATOR_NOT_AVAILABLE, "member_id": ana.member_id})
        >> bo.joins()
        << ana.joined(token="second", generation_id=2)
        << bo.joined(generation_id=2)
    )


def test_version_0_rebalances_as_long_as_its_session(ana: Actor) -> None:
    """It has no rebalance timeout of its own."""
    group = new_group()
    bring_in(group, Actor("old", version=0, session_timeout_ms=7_000))
    assert group.rebalance_timeout_ms == 7_000
    make_stable(group, ana)
    assert group.rebalance_timeout_ms == 60_000


@pytest.mark.parametrize(("version", "name"), [(3, ""), (7, None)])
def test_a_nameless_protocol_by_version(version: int, name: str | None) -> None:
    """A protocol named "" is a protocol; from v7 on its name is shown as null."""
    group = new_group()
    ana = Actor("ana", "", group_instance_id="ana's" if version == 7 else None, version=version)
    assert Playbook(group) >> ana.joins() >> At(3_000) << ana.joined(protocol_name=name)


# ── How many ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_static_members_are_counted_too() -> None:
    """Also one that restarts: with an empty id it is nobody the group knows."""
    group = new_group(group_max_size=2)
    ana, bo = Actor("ana", group_instance_id="ana's"), Actor("bo", group_instance_id="bo's")
    make_stable(group, ana, bo)
    full = ErrorCode.GROUP_MAX_SIZE_REACHED
    cy = Actor("cy", group_instance_id="cy's")
    assert Playbook(group) >> cy.joins() << cy.is_refused("join", full)
    assert Playbook(group) >> bo.joins(member_id="") << bo.is_refused("join", full) << Is(STABLE)


def test_pending_ids_find_no_room_and_are_forgotten(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Ids were handed out while there was room; whoever comes last is refused, and its id with it."""
    group = new_group(group_max_size=2)
    book = Playbook(group)
    for actor in (ana, bo, cy):
        assert book >> actor.joins() << actor.is_given_id()
    assert (
        book
        >> ana.joins()
        >> bo.joins()
        >> cy.joins()
        << cy.is_refused("join", ErrorCode.GROUP_MAX_SIZE_REACHED, member_id="")
    )
    assert cy.member_id not in group.pending_joins
    assert book >> At(6_000) << ana.joined() << bo.joined()


def test_members_rejoin_a_full_group_while_it_rebalances(ana: Actor, bo: Actor) -> None:
    """A member that is back may come again, though as many are back as there may be."""
    group = new_group(group_max_size=2)
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> ana.joins(token="first")
        >> bo.joins(protocols=protocols("range", metadata=b"new"))
        << ana.joined(token="first", generation_id=2)
        << bo.joined(generation_id=2)
        >> bo.joins(protocols=protocols("range", metadata=b"newer"))
        >> bo.joins(token="again")
        << bo.is_refused("join", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        << Is(PREPARING)
    )


def test_a_lowered_limit_puts_the_last_ones_out(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Three are members when only two may be; the last to rejoin is refused, and is a member no more."""
    group = new_group()
    make_stable(group, ana, bo, cy)
    group.config = replace(group.config, group_max_size=2)
    assert (
        Playbook(group)
        >> ana.joins()
        >> bo.joins()
        >> cy.joins()
        << cy.is_refused("join", ErrorCode.GROUP_MAX_SIZE_REACHED, member_id="")
        << Is(PREPARING)  # which nobody looks at, until something happens
        >> At(60_000)
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )


# ── The initial delay ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("delay_ms", "rebalance_timeout_ms", "arrivals_ms", "complete_ms"),
    [
        (3_000, 60_000, [0], 3_000),
        (3_000, 60_000, [0, 1_000], 6_000),
        (3_000, 60_000, [0, 1_000, 2_000], 6_000),
        (3_000, 60_000, [0, 1_000, 4_000], 9_000),
        (3_000, 9_000, [0, 1_000, 4_000, 7_000], 9_000),
        (3_000, 7_500, [0, 1_000, 4_000], 7_500),
        (3_000, 7_500, [0, 1_000, 4_000, 7_000], 7_500),
        (3_000, 3_000, [0, 1_000], 3_000),
        (3_000, 1_000, [0], 3_000),  # the delay is not cut to a shorter rebalance timeout
        (0, 60_000, [0], 0),
    ],
)
def test_initial_delay(delay_ms: int, rebalance_timeout_ms: int, arrivals_ms: list[int], complete_ms: int) -> None:
    """One more delay for each round in which somebody new came, in all the rebalance timeout."""
    group = new_group(group_initial_rebalance_delay_ms=delay_ms)
    actors = [
        Actor(f"member {number}", version=3, rebalance_timeout_ms=rebalance_timeout_ms)
        for number in range(len(arrivals_ms))
    ]
    book = Playbook(group)
    for actor, arrival_ms in zip(actors, arrivals_ms, strict=True):
        assert book >> At(arrival_ms) >> actor.joins() << Is(PREPARING)
    if complete_ms:
        assert book >> At(complete_ms - 1) << Is(PREPARING)
    book = book >> At(complete_ms)
    for actor in actors:
        book = book << actor.joined(generation_id=1)
    assert book << Is(COMPLETING)


def test_initial_delay_again_in_a_group_that_was_emptied(ana: Actor, bo: Actor) -> None:
    """It counts from Empty, not from generation 0: a group that is filled anew waits anew, and is prolonged anew."""
    group = new_group()
    make_stable(group, ana)
    perform(group, 0, ana.leaves()())
    ana.member_id = ""
    ana.version = bo.version = 3
    assert (
        Playbook(group)
        >> ana.joins()
        >> At(2_000)
        >> bo.joins()
        >> At(5_999)
        << Is(PREPARING)
        >> At(6_000)
        << ana.joined(generation_id=3)
        << bo.joined(generation_id=3)
    )


@pytest.mark.parametrize(("leaves", "complete_ms"), [(True, 20_000), (False, 6_000)])
def test_an_id_whose_time_is_up_ends_the_initial_delay(leaves: bool, complete_ms: int) -> None:
    """Ana is in and Bo only has an id. That Bo leaves changes nothing; that its time is up completes the phase."""
    group = new_group(group_initial_rebalance_delay_ms=20_000)
    ana, bo = Actor("ana", version=3), Actor("bo", session_timeout_ms=6_000)
    book = Playbook(group) >> ana.joins() >> bo.joins() << bo.is_given_id()
    if leaves:
        book = book >> At(1_000) >> bo.leaves() << bo.left()
    assert book << Is(PREPARING) >> At(complete_ms - 1) << Is(PREPARING)
    assert book >> At(complete_ms) << ana.joined(generation_id=1)


def test_all_leave_during_the_initial_delay(ana: Actor) -> None:
    """The group waits on as if they had not, and is Empty when the delay is over, in generation 1."""
    group = new_group()
    ana.version = 3
    assert (
        Playbook(group)
        >> ana.joins()
        << Is(PREPARING)
        >> ana.leaves(member_id="ana-1")
        << ana.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID, member_id="")
        << ana.left()
        << Is(PREPARING)
        >> At(3_000)
        << Is(EMPTY)
    )
    assert group.generation_id == 1


# ── The join phase ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_join_timer_is_as_long_as_the_most_patient_member(ana: Actor, bo: Actor, cy: Actor) -> None:
    """At the moment the rebalance begins; whoever joins later does not lengthen it."""
    group = new_group()
    ana.rebalance_timeout_ms, bo.rebalance_timeout_ms = 20_000, 40_000
    cy.version, cy.rebalance_timeout_ms = 3, 90_000
    make_stable(group, ana, bo)
    assert Playbook(group) >> ana.joins() >> cy.joins()
    assert group.join_deadline_ms == 40_000


def test_a_new_member_is_parked_for_five_minutes_at_most(ana: Actor, bo: Actor) -> None:
    """However long the rebalance: then it is told to start over, and is a member no more."""
    group = new_group()
    ana.rebalance_timeout_ms = 600_000
    ana.session_timeout_ms = 500_000
    make_stable(group, ana)
    bo.version = 3
    assert (
        Playbook(group)
        >> bo.joins()
        << Is(PREPARING)
        >> At(299_999)
        << Is(PREPARING)
        >> At(300_000)
        << bo.is_refused("join", ErrorCode.UNKNOWN_MEMBER_ID, member_id="")
        << Is(PREPARING)
    )


def test_old_members_that_are_parked_stay_however_long_it_takes(ana: Actor, bo: Actor) -> None:
    """Ana is parked, and her session runs out meanwhile: nothing happens, and her answer arms it again."""
    group = new_group()
    bo.session_timeout_ms = 100_000
    make_stable(group, ana, bo)
    assert (
        Playbook(group)
        >> ana.joins()
        >> At(59_000)
        << Is(PREPARING)
        >> bo.joins()
        << ana.joined(generation_id=2)
        << bo.joined(generation_id=2)
    )
    assert group.members[ana.member_id].deadline_ms == 69_000


def test_leaving_last_with_an_id_outstanding(ana: Actor, bo: Actor) -> None:
    """A rebalance without members waits 0 ms: the group is Empty on the next turn, and the id is still good."""
    group = new_group()
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> bo.joins()
        << bo.is_given_id()
        >> ana.leaves()
        << ana.left()
        << Is(PREPARING)
        >> At(0)
        << Is(EMPTY)
        >> bo.joins()
        << Is(PREPARING)
    )


def test_an_emptied_group_may_become_another_kind(ana: Actor, bo: Actor) -> None:
    """Its protocol type is that of its first member, each time it has one."""
    group = new_group()
    make_stable(group, ana)
    perform(group, 0, ana.leaves()())
    assert group.protocol_type == "consumer"
    bo.fields["protocol_type"] = "connect"
    make_stable(group, bo)
    assert group.protocol_type == "connect"


def test_whoever_gets_the_group_stuck_lives_by_its_session() -> None:
    """Ana's timer ran out while she was parked. Her next JoinGroup is answered, so she has to have a timer again."""
    group = new_group(group_max_size=2)
    ana, bo, cy = Actor("ana", "q"), Actor("bo", "q", "y", "y", version=3), Actor("cy", "q", session_timeout_ms=99_000)
    make_stable(group, ana)
    assert (
        Playbook(group)
        >> cy.joins()
        << cy.is_given_id()
        >> bo.joins()
        >> ana.joins()
        >> At(12_000)
        >> cy.joins()
        << cy.is_refused("join", ErrorCode.GROUP_MAX_SIZE_REACHED)
        >> ana.joins(protocols=protocols("y", "y"))
        << ana.is_refused("join", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        << ana.is_refused("join", ErrorCode.UNKNOWN_SERVER_ERROR)
        << Is(PREPARING)
    )
    assert group.members[ana.member_id].deadline_ms == 22_000


def test_the_timers_of_a_new_rebalance_replace_the_old_ones(ana: Actor, bo: Actor) -> None:
    """A sync timer of the generation before stops as the next rebalance begins."""
    group = new_group()
    bring_in(group, ana)
    bo.version = 3
    assert (
        Playbook(group, timers=True)
        >> bo.joins()
        << Arm("heartbeat-bo-2", 300_000)
        << Disarm("sync")
        << Arm(JOIN_TIMER, 60_000)
    )

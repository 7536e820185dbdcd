"""LeaveGroup: who goes, and what the others notice of it."""

from __future__ import annotations

import pytest

from ottla.coordinator.classic.rebalance import EmptyWritten
from ottla.coordinator.classic.records import group_record
from ottla.coordinator.classic.states import GroupState
from ottla.coordinator.runtime.effects import Append, Effect
from ottla.protocol.errors import ErrorCode
from ottla.testing.playbook import At, Is, NotWritten, Playbook, Written
from tests.coordinator.actors import Actor, Answer, Name, make_stable, new_group, perform

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
STABLE = GroupState.STABLE
NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


class EmptyAppended:
    """Expected: the record of a generation without members."""

    def matches(self, effect: Effect) -> bool:
        return isinstance(effect, Append) and isinstance(effect.completion, EmptyWritten)


@pytest.fixture
def cy() -> Actor:
    return Actor("cy", group_instance_id="cy's")


@pytest.fixture
def dee() -> Actor:
    return Actor("dee", group_instance_id="dee's")


def test_the_last_one_out_waits_for_the_empty_generation_to_be_written(ana: Actor) -> None:
    """Then it is answered."""
    group = new_group()
    make_stable(group, ana)
    book = Playbook(group, writes=True)
    assert book >> ana.leaves() << EmptyAppended() << Is(EMPTY) >> Written() << ana.left()
    assert book.log == [group_record(group)]
    assert (group.generation_id, group.leader_id, group.protocol_name, group.protocol_type) == (
        2,
        None,
        None,
        "consumer",
    )


def test_an_empty_generation_that_cannot_be_written(ana: Actor) -> None:
    """The whole request is refused, but the group is Empty all the same."""
    group = new_group()
    make_stable(group, ana)
    refused = {"error_code": ErrorCode.NOT_COORDINATOR, "members": []}
    assert (
        Playbook(group, writes=True)
        >> ana.leaves()
        << EmptyAppended()
        >> NotWritten(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        << Answer(Name("ana leave"), refused)
        << Is(EMPTY)
    )


def test_an_empty_generation_written_for_nobody(ana: Actor) -> None:
    """The last session ended; whether that is written or not, nobody waits for it."""
    for cue in (Written(), NotWritten(ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        group = new_group()
        ana.member_id = ""
        make_stable(group, ana)
        assert Playbook(group, writes=True) >> At(10_000) << EmptyAppended() >> cue << Is(EMPTY)


def test_whoever_leaves_while_parked_is_answered(ana: Actor, bo: Actor, cy: Actor) -> None:
    """Its JoinGroup, without a member id; its SyncGroup, which Kafka would let hang."""
    group = new_group()
    make_stable(group, ana, bo, cy)
    assert (
        Playbook(group)
        >> ana.joins()
        >> ana.leaves()
        << ana.is_refused("join", UNKNOWN, member_id="")
        << ana.left()
        << Is(PREPARING)
        >> bo.joins()
        >> cy.joins()
        << bo.joined(generation_id=2)
        << cy.joined(generation_id=2)
        >> cy.syncs()
        >> bo.leaves(cy)
        << cy.is_refused("sync", UNKNOWN)
        << bo.left(NONE, NONE)
        << Is(EMPTY)
    )


def test_nobody_goes_so_nothing_happens(ana: Actor) -> None:
    """A batch of strangers, and a batch of nobody."""
    group = new_group()
    make_stable(group, ana)
    stranger = Actor("stranger")
    stranger.member_id = "made up"
    assert Playbook(group) >> stranger.leaves() << stranger.left(UNKNOWN) << Is(STABLE)
    event = stranger.leaves()()
    event.request.members.clear()  # type: ignore[union-attr]
    assert Playbook(group) >> event << Answer(Name("stranger leave"), {"error_code": NONE, "members": []})


def test_a_pending_id_that_leaves_completes_the_join(ana: Actor, bo: Actor) -> None:
    """It was the only one missing."""
    group = new_group()
    make_stable(group, ana)
    cy = Actor("cy", version=3)
    assert (
        Playbook(group)
        >> bo.joins()
        << bo.is_given_id()
        >> cy.joins()
        >> ana.joins()
        << Is(PREPARING)
        >> bo.leaves()
        << ana.joined(generation_id=2)
        << cy.joined(generation_id=2)
        << bo.left()
    )


def test_a_pending_id_that_leaves_rebalances_a_stable_group(ana: Actor, bo: Actor) -> None:
    """Though it was no member; Kafka 4 looks only whether anybody left."""
    group = new_group()
    make_stable(group, ana)
    assert Playbook(group) >> bo.joins() << bo.is_given_id() >> bo.leaves() << bo.left() << Is(PREPARING)
    assert not group.pending_joins


@pytest.mark.parametrize("is_batch", [True, False])
def test_pending_ids_and_members_leave_together(ana: Actor, bo: Actor, is_batch: bool) -> None:
    """Also beside one that is unknown."""
    group = new_group()
    make_stable(group, ana)
    unknown = Actor("unknown")
    unknown.member_id = "made up"
    others = (ana, unknown) if is_batch else (ana,)
    perform_id = bo.is_given_id()
    (reply,) = perform(group, 0, bo.joins()())
    assert perform_id.matches(reply)
    errors = (NONE, NONE, UNKNOWN) if is_batch else (NONE, NONE)
    assert Playbook(group) >> bo.leaves(*others) << bo.left(*errors) << Is(EMPTY)


def test_a_pending_id_that_leaves_an_empty_group_changes_nothing(ana: Actor) -> None:
    """There is nobody to rebalance."""
    group = new_group()
    assert (
        Playbook(group)
        >> ana.joins()
        << ana.is_given_id()
        >> ana.leaves()
        << ana.left()
        << Is(EMPTY)
        >> ana.joins()
        << ana.is_refused("join", UNKNOWN)
    )
    assert group.generation_id == 0

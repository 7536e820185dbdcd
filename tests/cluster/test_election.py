"""Elections as a function: placement and what happens to its nodes → placement."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cluster.election import Election, catch_up, elect, remove_node
from ottla.cluster.topic import NO_LEADER, Placement


def placed(replicas: str, leader_id: int, isr: str, elr: str = "", last: str = "") -> Placement:
    """Node ids as digits."""
    return Placement(*(_ids(replicas), leader_id, _ids(isr), _ids(elr), _ids(last)))


def _ids(digits: str) -> list[int]:
    return [int(digit) for digit in digits]


@dataclass
class Partition:
    """One partition, and the nodes around it. Each step is what the controller makes of one thing that happens."""

    replicas: str = "123"
    min_isr: int = 1
    election: Election = Election.ONLINE
    down: set[int] = field(default_factory=set)
    crashed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.placement = Placement(_ids(self.replicas), int(self.replicas[0]), _ids(self.replicas))

    @property
    def up(self) -> set[int]:
        return set(self.placement.replicas) - self.down

    def leaves(self, node_id: int) -> Partition:
        self.down.add(node_id)
        self.placement = remove_node(self.placement, node_id, self.up, self.min_isr, self.election, has_crashed=False)
        return self

    def dies(self, node_id: int) -> Partition:
        self.crashed.add(node_id)
        return self.leaves(node_id)

    def returns(self, node_id: int) -> Partition:
        if node_id in self.crashed:
            self.crashed.discard(node_id)
            self.placement = remove_node(
                self.placement, node_id, self.up, self.min_isr, self.election, has_crashed=True
            )
        self.down.discard(node_id)
        if self.placement.leader_id == NO_LEADER:
            self.placement = elect(self.placement, self.up, self.min_isr, self.election)
        return self._all_catch_up()

    def elects(self, election: Election) -> Partition:
        self.placement = elect(self.placement, self.up, self.min_isr, election)
        return self._all_catch_up()

    def _all_catch_up(self) -> Partition:
        self.placement = catch_up(self.placement, self.up, self.min_isr)
        return self


# ── One thing at a time ───────────────────────────────────────────────────────────────────────────────────────────────


def test_next_replica_in_sync_leads_when_the_leader_goes() -> None:
    """In the order of the list, and of those in sync."""
    assert Partition().leaves(1).placement == placed("123", 2, "23")
    assert Partition("312").leaves(3).placement == placed("312", 1, "12")


def test_leader_stays_when_a_follower_goes() -> None:
    assert Partition().leaves(2).placement == placed("123", 1, "13")


def test_node_that_is_back_is_in_sync_and_does_not_lead() -> None:
    """The ISR is in the order of the ids then, as in Kafka; leading again takes an election."""
    assert Partition("312").leaves(3).returns(3).placement == placed("312", 1, "123")


def test_preferred_leader_is_elected_when_it_is_in_sync() -> None:
    assert Partition().leaves(1).returns(1).elects(Election.PREFERRED).placement == placed("123", 1, "123")


def test_preferred_election_changes_nothing_while_the_preferred_leader_is_down() -> None:
    partition = Partition().leaves(1)
    before = replace(partition.placement)
    assert partition.elects(Election.PREFERRED).placement == before


def test_single_replica_comes_back_with_its_node() -> None:
    """Whether it left in order or died; meanwhile nobody leads, and it is remembered who did."""
    for partition in (Partition("1").leaves(1), Partition("1").dies(1)):
        assert partition.placement == placed("1", NO_LEADER, "", elr="1", last="1")
        assert partition.returns(1).placement == placed("1", 1, "1")


def test_story_of_the_module() -> None:
    """The table at the head of election.py, line by line."""
    partition = Partition(min_isr=2)
    assert partition.leaves(3).placement == placed("123", 1, "12")
    assert partition.leaves(1).placement == placed("123", 2, "2", elr="1")
    assert partition.leaves(2).placement == placed("123", NO_LEADER, "", elr="12", last="2")
    assert replace(partition.placement) == elect(partition.placement, {3}, 2)
    partition.down.discard(3)
    assert elect(partition.placement, partition.up, 2) == placed("123", NO_LEADER, "", elr="12", last="2")
    partition.down.discard(1)
    assert elect(partition.placement, partition.up, 2) == placed("123", 1, "1", elr="2")
    partition.placement = elect(partition.placement, partition.up, 2)
    assert partition._all_catch_up().placement == placed("123", 1, "13")


def test_node_that_was_not_in_sync_does_not_lead_when_it_comes_back_alone() -> None:
    """2 left before 1 did, so it may miss what 1 acknowledged alone."""
    partition = Partition("12").leaves(2).leaves(1)
    assert partition.placement == placed("12", NO_LEADER, "", elr="1", last="1")
    assert partition.returns(2).placement == placed("12", NO_LEADER, "", elr="1", last="1")
    assert partition.returns(1).placement == placed("12", 1, "12")


def test_unclean_election_takes_who_is_there() -> None:
    """By ElectLeaders, or at once where unclean.leader.election.enable says so."""
    partition = Partition("12").leaves(2).leaves(1).returns(2)
    assert partition.elects(Election.UNCLEAN).placement == placed("12", 2, "2")
    assert Partition("12", election=Election.UNCLEAN).leaves(2).leaves(1).returns(2).placement == placed("12", 2, "2")


def test_unclean_election_starts_anew() -> None:
    """Who was eligible before is not any more: it may have what the new leader lacks."""
    partition = Partition(min_isr=2).leaves(3).leaves(1).leaves(2).returns(3)
    assert partition.placement == placed("123", NO_LEADER, "", elr="12", last="2")
    assert partition.elects(Election.UNCLEAN).placement == placed("123", 3, "3")


def test_unclean_election_without_anybody_changes_nothing() -> None:
    partition = Partition("12").leaves(2).leaves(1)
    before = replace(partition.placement)
    assert partition.elects(Election.UNCLEAN).placement == before


def test_crashed_node_is_not_eligible_any_more() -> None:
    """It may have lost what it had not flushed. One that left in order is elected."""
    for how, leader_id in (("dies", NO_LEADER), ("leaves", 2)):
        partition = Partition(min_isr=3)
        getattr(partition.leaves(3), how)(2).leaves(1)
        assert partition.placement.elr == [1, 2, 3]
        assert partition.returns(2).placement.leader_id == leader_id


def test_last_leader_is_elected_when_nobody_is_eligible() -> None:
    """All have crashed: the last leader is the best there is, and is in sync alone."""
    partition = Partition("12").dies(2).dies(1)
    assert partition.returns(2).placement.leader_id == NO_LEADER
    assert partition.returns(1).placement == placed("12", 1, "12")


# ── Whatever happens ──────────────────────────────────────────────────────────────────────────────────────────────────

STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["leaves", "dies", "returns"]), st.integers(1, 4)),
        st.tuples(st.just("elects"), st.sampled_from([Election.PREFERRED, Election.UNCLEAN])),
    ),
    max_size=30,
)


@given(
    replicas=st.permutations("1234").flatmap(lambda ids: st.integers(1, 4).map(lambda count: "".join(ids[:count]))),
    min_isr=st.integers(1, 4),
    election=st.sampled_from([Election.ONLINE, Election.UNCLEAN]),
    steps=STEPS,
)
def test_invariants(replicas: str, min_isr: int, election: Election, steps: list[tuple[str, object]]) -> None:
    """Who leads is up and in sync; who is in sync is up; nobody up and in sync is left without a leader."""
    partition = Partition(replicas, min(min_isr, len(replicas)), election)
    for step, argument in steps:
        before = partition.placement
        if (step == "returns" and argument not in partition.down) or (
            step in ("leaves", "dies") and (argument in partition.down or argument not in before.replicas)
        ):
            continue
        getattr(partition, step)(argument)
        after = partition.placement
        assert after.replicas == before.replicas
        assert set(after.isr) <= partition.up
        assert len(set(after.isr)) == len(after.isr)
        assert not set(after.isr) & set(after.elr)
        assert set(after.elr) <= set(after.replicas)
        assert not after.elr or len(after.isr) < partition.min_isr
        if after.leader_id == NO_LEADER:
            assert after.isr == []
            assert len(after.last_known_elr) == 1
            assert not partition.up & set(after.elr)
            assert election is not Election.UNCLEAN or not partition.up
        else:
            assert after.leader_id in after.isr
            assert after.last_known_elr == []
            assert set(after.isr) == partition.up, "logs are shared, so all who are up are in sync"
        if step != "elects" and before.leader_id in partition.up:
            assert after.leader_id == before.leader_id, "nobody is replaced who may stay"


@given(st.permutations([1, 2, 3]), st.integers(1, 3))
def test_last_acknowledged_record_is_never_lost_without_an_unclean_election(order: list[int], min_isr: int) -> None:
    """All leave in some order: whoever is elected first of those who come back was in sync with the last leader."""
    partition = Partition(min_isr=min_isr)
    for node_id in order:
        partition.leaves(node_id)
    eligible = set(partition.placement.elr)
    assert order[-1] in eligible
    assert len(eligible) >= partition.min_isr
    for node_id in order:
        partition.returns(node_id)
        if partition.placement.leader_id != NO_LEADER:
            break
    assert partition.placement.leader_id in eligible
    assert partition.placement.leader_id == node_id


@pytest.mark.parametrize("election", list(Election))
def test_an_election_that_is_not_needed_changes_nothing(election: Election) -> None:
    placement = placed("123", 1, "123")
    assert elect(placement, {1, 2, 3}, 1, election) == placement

"""Reassignments as a function: placement, where it is to go, and which nodes are up → placement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cluster.election import catch_up, elect
from ottla.cluster.reassignment import complete, needs_unclean_election, reassign, revert
from ottla.cluster.topic import NO_LEADER, Placement

NODES = (1, 2, 3, 4)


def move(before: Placement, target: list[int], up: set[int]) -> Placement:
    """What the cluster makes of it."""
    return finish(elect(reassign(before, target), up, 1), up)


def finish(before: Placement, up: set[int]) -> Placement:
    """The replicas that are up are in sync, and what can be complete is."""
    return complete(catch_up(before, up, 1), up, 1)


@pytest.mark.parametrize(
    ("target", "leader_id", "isr"),
    [
        ([1, 2], 1, [1, 2]),
        ([2, 1], 1, [1, 2]),  # the leader stays, though another is preferred now
        ([2, 3], 2, [2, 3]),
        ([4, 3], 4, [3, 4]),
        ([2], 2, [2]),
        ([3, 1, 2], 1, [1, 2, 3]),
    ],
)
def test_reassignment_is_complete_at_once_where_all_are_up(target: list[int], leader_id: int, isr: list[int]) -> None:
    """The leader stays if it may; if not it is the first of those that have a replica."""
    assert move(Placement([1, 2], 1, [1, 2]), target, set(NODES)) == Placement(target, leader_id, isr)


def test_what_is_added_is_waited_for_and_what_is_removed_is_kept_so_long() -> None:
    waiting = move(Placement([1, 2], 1, [1, 2]), [3, 2], {1, 2})
    assert waiting == Placement([3, 2, 1], 1, [1, 2], adding=[3], removing=[1])
    assert waiting.assigned == [3, 2]
    assert finish(waiting, {1, 2, 3}) == Placement([3, 2], 3, [2, 3])


def test_replicas_do_not_go_while_those_that_stay_are_away() -> None:
    """Else fewer would have the records than before. Kafka: KAFKA-14190."""
    before = Placement([1, 2, 3], 1, [1, 2])
    waiting = move(before, [1, 3], {1, 2})
    assert waiting == Placement([1, 3, 2], 1, [1, 2], adding=[], removing=[2])
    assert finish(waiting, {1, 2, 3}) == Placement([1, 3], 1, [1, 3])


def test_nothing_goes_if_nobody_would_be_left_in_sync() -> None:
    """There is no leader, from whom the new replica could have it."""
    before = Placement([1], NO_LEADER, [], elr=[1], last_known_elr=[1])
    waiting = move(before, [2], {2})
    assert (waiting.replicas, waiting.leader_id, waiting.isr) == ([2, 1], NO_LEADER, [])
    assert (waiting.adding, waiting.removing) == ([2], [1])


def test_second_reassignment_takes_the_place_of_the_first() -> None:
    first = move(Placement([1], 1, [1]), [3], {1, 2})
    second = move(first, [2], {1, 2})
    assert second == Placement([2], 2, [2])


def test_way_back_is_to_what_was_before() -> None:
    before = Placement([1, 2], 1, [1, 2])
    waiting = move(before, [3], {1, 2})
    start, isr = revert(waiting)
    assert not needs_unclean_election(waiting)
    assert elect(start, {1, 2}, 1, isr=isr) == before


def test_way_back_is_unclean_if_only_what_is_added_is_in_sync() -> None:
    waiting = Placement([3, 4, 1], 3, [3], adding=[3, 4], removing=[1])
    assert needs_unclean_election(waiting)
    start, isr = revert(waiting)
    assert (start.replicas, isr) == ([1], [1])


_REPLICAS = st.lists(st.sampled_from(NODES), min_size=1, unique=True)


@given(_REPLICAS, st.lists(_REPLICAS, min_size=1, max_size=4))
def test_where_all_are_up_a_partition_ends_up_where_it_was_last_asked_to_be(
    first: list[int], targets: list[list[int]]
) -> None:
    placement = Placement(first, first[0], sorted(first))
    for target in targets:
        placement = move(placement, target, set(NODES))
        assert placement.replicas == target
        assert placement.leader_id in target
        assert set(placement.isr) == set(target)
        assert not placement.is_being_reassigned


@given(_REPLICAS, _REPLICAS, st.sets(st.sampled_from(NODES)))
def test_what_waits_is_complete_when_all_are_up_and_reverted_as_if_it_had_not_begun(
    first: list[int], target: list[int], up: set[int]
) -> None:
    """Whoever is up in between. What was in sync before leads on, unless it goes."""
    before = Placement(first, first[0], [first[0]])
    up |= {first[0]}
    waiting = move(before, target, up)
    assert waiting.leader_id in up
    assert set(waiting.isr) <= set(waiting.replicas)
    assert waiting.assigned == target
    assert finish(waiting, set(NODES)).replicas == target
    if waiting.is_being_reassigned:
        assert revert(waiting)[0].replicas[: len(first)] == [
            replica for replica in waiting.replicas if replica in first
        ]

"""Sums for a journal of any length: what they say, and that they hold no more than they may."""

from __future__ import annotations

import random
from collections import defaultdict

from ottla.rebalances.lines import JournalLine
from ottla.rebalances.story import CauseSums, Story
from ottla.rebalances.sums import Lengths, Longest, Union


def test_times_that_overlap_count_once() -> None:
    """As if every millisecond were asked whether it is in any of the spans."""
    dice = random.Random(4)
    union, all_of_it = Union(), set[int]()
    until = 0
    for _ in range(300):
        until += dice.randrange(12)
        since = until - dice.choice((0, 1, 3, 40, 200))
        union.add(since, until)
        all_of_it.update(range(since, until))
        assert union.total_ms == len(all_of_it)


def test_the_middle_is_the_one_that_half_do_not_exceed() -> None:
    """Of few values exactly; of very many different ones within a thousandth."""
    lengths = Lengths()
    assert lengths.percentile(50) is None
    for length_ms in (30, 10, 20, 40):
        lengths.add(length_ms)
    assert [lengths.percentile(percent) for percent in (50, 51, 95)] == [20, 30, 40]
    many = Lengths()
    for length_ms in range(0, 400_000, 7):
        many.add(length_ms)
    assert many.longest_ms == max(range(0, 400_000, 7))
    assert abs((many.percentile(50) or 0) - 200_000) < 400
    assert abs((many.percentile(95) or 0) - 380_000) < 400


def test_the_longest_are_kept_in_their_order() -> None:
    """Of equals those that came first."""
    longest = Longest(3)
    for place, key in enumerate((5, 1, 9, 5, 5)):
        longest.add(key, (place, key))
    assert longest.items() == [(0, 5), (2, 9), (3, 5)]


def test_parts_come_to_the_same_as_the_whole() -> None:
    """Also where there are so many different values that they are rounded, in each part to another step."""
    dice = random.Random(5)
    whole, merged = Lengths(), Lengths()
    for count, most in ((90_000, 400_000), (5, 10), (0, 1), (12_000, 30_000)):
        part = Lengths()
        for _ in range(count):
            length_ms = dice.randrange(most)
            part.add(length_ms)
            whole.add(length_ms)
        merged.merge(part)
    percents = range(0, 101, 5)
    assert [merged.percentile(percent) for percent in percents] == [whole.percentile(percent) for percent in percents]
    assert (merged.count, merged.total_ms, merged.longest_ms) == (whole.count, whole.total_ms, whole.longest_ms)


def test_members_without_number_take_bounded_memory() -> None:
    """The members that caused the most rebalances are remembered."""
    story = Story("g", defaultdict(CauseSums))
    for number in range(1, 25_001):
        member_id = "restless" if number < 5 else f"member-{number}"
        about = ("group.rebalance.started", "PreparingRebalance", "member_joined", member_id, None, None, None)
        story.add(JournalLine(number, number, number, "g", *about))
    story.end()
    members = list(story.member_items())
    assert len(members) <= 20_000
    assert max(members, key=lambda member: member["rebalances"])["member_id"] == "restless"
    assert story.group_item()["rebalances"] == 25_000
    assert len(story.rebalance_items()) == 500

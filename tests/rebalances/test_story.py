"""A journal's lines become states, rebalances and sums; each story is a few lines as a broker writes them."""

from __future__ import annotations

import json
import pickle
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.rebalances.analysis import Analysis
from ottla.rebalances.lines import LINE_BYTES_MAX, line_of
from ottla.rebalances.story import CauseSums, Story
from tests.rebalances.journals import COMPLETING, EMPTY, PREPARING, STABLE, Journal, JournalFields, walk


@dataclass
class Told:
    """What a group's lines come to."""

    group: dict[str, Any] = field(default_factory=dict)
    causes: list[dict[str, Any]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    rebalances: list[dict[str, Any]] = field(default_factory=list)
    states: list[tuple[Any, ...]] = field(default_factory=list)


def told(lines: Sequence[JournalFields]) -> Told:
    """Of lines of one group, in any order."""
    found, causes = Told(), defaultdict[str | None, CauseSums](CauseSums)

    def tell(name: str, item: dict[str, Any]) -> None:
        if name == "rebalances":
            found.rebalances.append(item)
        else:
            found.states.append((item["state"], item["since_ms"], item["until_ms"]))

    story = Story("g", causes, tell)
    for line in sorted(filter(None, (line_of(json.dumps(line).encode()) for line in lines))):
        story.add(line)
    story.end()
    found.group = story.group_item()
    found.causes = [sums.item(cause) for cause, sums in causes.items()]
    found.members = list(story.member_items())
    return found


def columns(items: Sequence[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(item[name] for name in names) for item in items]


REBALANCE = ("cause", "outcome", "started_ms", "duration_ms")


def test_a_state_lasts_until_the_next() -> None:
    """Lines that change nothing don't end it, and the last one has no end: it is in no sum."""
    journal = Journal().add(0, "group.created", EMPTY, cause="join").add(5, "group.member.joined", EMPTY)
    found = told(journal.rebalance(10, 30).add(100, "group.member.joined", STABLE).lines)
    assert found.states == [(EMPTY, 0, 10), (PREPARING, 10, 30), (COMPLETING, 30, 30), (STABLE, 30, None)]
    sums = ("not_stable_ms", "stable_ms", "empty_ms", "unfinished_state", "unfinished_since_ms", "lines")
    assert columns([found.group], *sums) == [(20, 0, 10, STABLE, 30, 6)]


def test_a_group_that_is_gone_has_no_state() -> None:
    """Nor is anything unfinished then."""
    journal = Journal().add(0, "group.created", EMPTY).add(7, "group.deleted", EMPTY, cause="requested")
    found = told(journal.add(50, "group.created", EMPTY).add(60, "group.unloaded", EMPTY).lines)
    assert found.states == [(EMPTY, 0, 7), (EMPTY, 50, 60)]
    assert found.group["unfinished_state"] is None


def test_what_a_killed_broker_left_open_stays_open() -> None:
    """It has no known end; the next broker loaded the group later."""
    journal = Journal().add(0, "group.created", EMPTY)
    journal.add(10, "group.rebalance.started", PREPARING, cause="member_joined", member_id="ana")
    found = told(journal.add(90_000, "group.loaded", STABLE).lines)
    assert found.states == [(EMPTY, 0, 10), (PREPARING, 10, None), (STABLE, 90_000, None)]
    assert columns(found.rebalances, *REBALANCE) == [("member_joined", "unfinished", 10, None)]


def test_each_rebalance_has_a_cause_and_an_outcome() -> None:
    """Completed, interrupted by another, without a member left, or with the group's node; and how long it took."""
    journal = Journal().add(0, "group.created", EMPTY).rebalance(1, 4)
    journal.add(10, "group.rebalance.started", PREPARING, cause="session_expired", member_id="bo")
    journal.add(15, "group.rebalance.started", PREPARING, cause="member_left", member_id="ana")
    journal.add(18, "group.emptied", EMPTY, duration_ms=3)
    journal.add(20, "group.rebalance.started", PREPARING, cause="member_joined", member_id="cy")
    found = told(journal.add(29, "group.unloaded", PREPARING).lines)
    assert columns(found.rebalances, *REBALANCE) == [
        ("member_joined", "completed", 1, 3),
        ("session_expired", "interrupted", 10, 5),
        ("member_left", "emptied", 15, 3),
        ("member_joined", "abandoned", 20, 9),
    ]
    sums = ("cause", "rebalances", "completed", "abandoned", "total_ms", "longest_ms")
    assert columns(found.causes, *sums) == [
        ("member_joined", 2, 1, 1, 12, 9),
        ("session_expired", 1, 0, 0, 5, 5),
        ("member_left", 1, 0, 0, 3, 3),
    ]


def test_a_silent_member_left_partitions_unread() -> None:
    """From its last sign of life, which is longer than the rebalance; two at once count once for their group."""
    journal = Journal().add(0, "group.created", EMPTY).rebalance(1, 4)
    journal.killed(50_000, silent_ms=45_000, took_ms=20, member="bo").killed(51_000, 45_000, 10, member="cy")
    journal.add(60_000, "group.rebalance.started", PREPARING, cause="member_left", member_id="dan")
    journal.add(60_500, "group.member.removed", PREPARING, cause="join_expired", member_id="eva", silent_ms=900)
    found = told(journal.add(60_500, "group.rebalance.completed", STABLE).lines)
    assert columns(found.rebalances, "cause", "duration_ms", "unread_ms") == [
        ("member_joined", 3, 3),
        ("session_expired", 20, 45_020),
        ("session_expired", 10, 45_010),
        ("member_left", 500, 900),
    ]
    assert columns([found.group], "not_stable_ms", "unread_ms") == [(533, 3 + 51_010 - 5_000 + 900)]


@pytest.mark.parametrize("has_line_numbers", [True, False], ids=["numbered", "of an older broker"])
def test_lines_of_one_millisecond_have_an_order(has_line_numbers: bool) -> None:
    """With a clock that stands still everything happens at once, and lines may come from several files."""
    journal = Journal().add(5, "group.created", EMPTY).rebalance(5, 5, "member_joined")
    journal.rebalance(5, 5, "leader_rejoined").add(5, "group.rebalance.started", PREPARING, cause="member_left")
    journal.add(5, "group.emptied", EMPTY)
    lines = [line if has_line_numbers else {k: v for k, v in line.items() if k != "line"} for line in journal.lines]
    random.Random(7).shuffle(lines)
    found = told(lines)
    assert columns(found.rebalances, "cause", "outcome") == [
        ("member_joined", "completed"),
        ("leader_rejoined", "completed"),
        ("member_left", "emptied"),
    ]
    assert found.group["lost_lines"] == 0


def test_a_group_deleted_and_made_again_at_once() -> None:
    """Its sequence begins again within the millisecond; the lines' numbers know which came first."""
    journal = Journal().add(0, "group.created", EMPTY).add(5, "group.member.joined", EMPTY)
    journal.add(5, "group.deleted", EMPTY).add(5, "group.created", EMPTY).add(5, "group.rebalance.started", PREPARING)
    assert told(journal.lines).states == [(EMPTY, 0, 5), (EMPTY, 5, 5), (PREPARING, 5, None)]


def test_lost_lines_are_told() -> None:
    """A sequence with a gap."""
    journal = Journal().add(0, "group.created", EMPTY).rebalance(1, 2).rebalance(3, 4)
    del journal.lines[2:4]
    assert columns([told(journal.lines).group], "lines", "lost_lines") == [(5, 2)]


@pytest.mark.parametrize(
    "text",
    [
        b'{"v":1,"t":9,"gro',
        b'{"v":2,"t":1,"seq":1,"group":"g","event":"e"}',
        b'{"v":1,"t":5}',
        b'{"v":1,"t":1.5,"seq":1,"group":"g","event":"e"}',
        b'{"v":1,"t":1,"seq":99999999999999999999,"group":"g","event":"e"}',
        b'{"v":1,"t":1,"seq":1,"group":7,"event":"e"}',
        b"7",
        b"\xff",
        b'{"v":1,"t":1,"seq":1,"group":"g","event":"e"}' + b" " * LINE_BYTES_MAX,
    ],
    ids=lambda text: text[:50].decode(errors="replace"),
)
def test_lines_that_are_not_usable(text: bytes) -> None:
    """Torn, of another version, without a group, with a number that no column holds, too long."""
    assert line_of(text) is None


def test_half_a_character_is_no_obstacle() -> None:
    """A name may have half of a surrogate pair, which can't be written to a file: a question mark stands for it."""
    line = line_of(b'{"v":1,"t":1,"seq":1,"group":"g\\uD83D","event":"e","silent_ms":"x"}')
    assert line is not None
    assert (line.group, line.number, line.silent_ms) == ("g?", 1, None)


def test_who_came_and_went() -> None:
    """Each member, how often it did what, and how many rebalances it caused."""
    journal = Journal().add(0, "group.created", EMPTY)
    journal.add(1, "group.member.joined", EMPTY, member_id="ana", client_id="shop", client_host="/10.0.0.1")
    journal.rebalance(2, 3)
    journal.add(4, "group.member.rejoined", STABLE, member_id="ana")
    journal.add(5, "group.member.removed", STABLE, member_id="ana", cause="session_expired")
    found = told(journal.add(6, "group.member.removed", STABLE, member_id="bo", cause="member_left").lines)
    names = ("client_id", "client_host", "joined", "rejoined", "removed", "left", "expired", "rebalances")
    assert columns(found.members, "member_id", *names) == [
        ("ana", "shop", "/10.0.0.1", 1, 1, 1, 0, 1, 1),
        ("bo", None, None, 0, 0, 1, 1, 0, 0),
    ]


@pytest.mark.parametrize("top", [0, 3, 20])
def test_parts_of_an_analysis_are_the_analysis(top: int) -> None:
    """Groups that are divided among tasks, which send what they found, come to the same as all at once."""
    stories: dict[str, list[Any]] = {}
    for line in walk(seed=21, lines=4_000, groups=9).lines:
        stories.setdefault(line["group"], []).append(line_of(json.dumps(line).encode()))

    def analysed(groups: Sequence[str]) -> Analysis:
        analysis = Analysis(top)
        for group in groups:
            story = Story(group, analysis.causes)
            for line in stories[group]:
                story.add(line)
            story.end()
            analysis.add(story)
        return analysis

    merged = Analysis(top)
    for part in (list(stories)[6:], [], list(stories)[:2], list(stories)[2:6]):
        merged.merge(pickle.loads(pickle.dumps(analysed(part))))
    assert merged.found([], 4_000, 0) == analysed(list(stories)).found([], 4_000, 0)

"""Stories P: which protocol a group uses, told over TCP."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol.errors import ErrorCode
from tests.clients.conftest import MakeTopic, Start
from tests.clients.libraries import KAFKA_PYTHON
from tests.clients.sharing import LONG_MS, each_reads_its_own, share
from tests.stories.actors import Actor, Stage

PREPARING, STABLE = "PreparingRebalance", "Stable"


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
def test_story_p1_votes_decide(stage: Stage, lists: list[list[str]], chosen: str) -> None:
    """Each votes for the first of its own list that all support; the most votes win."""
    first, *others = (stage.actor(name, *names) for name, names in zip(("ana", "bo", "cy"), lists, strict=False))
    first.enters().joined(generation_id=1, leader=first, protocol=first.protocols[0])
    for number, other in enumerate(others, start=2):
        other.enters()
        stage.shows(PREPARING, members=number)
    first.joins()
    for actor in (first, *others):
        actor.joined(generation_id=2, leader=first, protocol=chosen)


def test_story_p2_a_third_with_other_protocols_is_refused(group: str, make_topic: MakeTopic, start: Start) -> None:
    """Two do sticky; one that does only cooperative-sticky is refused, and the two keep working."""
    topic = make_topic(partitions=4)
    ana, bo, cy = (start(KAFKA_PYTHON, name) for name in ("ana", "bo", "cy"))
    for member in (ana, bo):
        member.subscribe(group=group, topics=[topic], assignors=["sticky"], session_timeout_ms=LONG_MS)
    share(topic, 4, [ana, bo])
    told = len(ana.rebalances), len(bo.rebalances)
    cy.subscribe(group=group, topics=[topic], assignors=["cooperative-sticky"], session_timeout_ms=LONG_MS)
    cy.until(lambda: bool(cy.failures), "cy is refused")
    assert cy.failures[0].code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    each_reads_its_own(topic, 4, ana, [ana, bo])
    assert (len(ana.rebalances), len(bo.rebalances)) == told


@pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": []}], ids=["no type", "no protocols"])
def test_story_p3_nothing_in_common(stage: Stage, ana: Actor, bo: Actor, fields: dict[str, Any]) -> None:
    """No type or no protocols on the first join, or another type than the group's: refused."""
    ana.joins(**fields).is_answered(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    stage.stable(ana)
    bo.joins(**fields).is_answered(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    bo.joins(protocol_type="connect").is_answered(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    stage.shows(STABLE, members=1)


def test_story_p4_first_member_names_a_protocol_twice(stage: Stage) -> None:
    """It counts as two that support it, so nobody does, and the first member never hears of its generation. A second
    one that names it once is refused.
    """
    ana, bo = stage.actor("ana", "range", "range"), stage.actor("bo", "range")
    ana.enters()
    stage.shows(PREPARING, members=1)
    bo.joins().is_answered(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert ana.is_parked


def test_story_p4_second_member_names_a_protocol_twice(stage: Stage) -> None:
    """It may join, since the first supports it, and makes it three that do: the first is not let back in."""
    ana, bo = stage.actor("ana", "range"), stage.actor("bo", "range", "range")
    stage.stable(ana)
    bo.enters()
    stage.shows(PREPARING, members=2)
    ana.joins().is_answered(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    stage.shows(PREPARING, members=2)


def test_story_p4_who_names_another_once_has_that_chosen(stage: Stage) -> None:
    """A protocol named twice is no candidate; one named once beside it is."""
    ana = stage.actor("ana", "range", "range", "sticky")
    ana.enters().joined(generation_id=1, leader=ana, protocol="sticky")

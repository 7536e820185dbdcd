"""A journal's lines become states, rebalances and sums; each story is a few lines as a broker writes them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.pipeline.transforms import rebalances as transforms
from ottla.pipeline.transforms.journal import SCHEMA, UNREADABLE, events, is_usable, states
from tests.cli.journals import COMPLETING, EMPTY, PREPARING, STABLE, Journal, Line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, folder: Path, lines: Sequence[Line | str]) -> DataFrame:
    """The lines as a job reads them, from a file."""
    path = folder / "journal.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return spark.read.schema(SCHEMA).option("columnNameOfCorruptRecord", UNREADABLE).json(path.as_uri())


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.selectExpr(*columns).collect()]


STATES = ("state", "unix_millis(since)", "unix_millis(until)")
REBALANCES = ("cause", "outcome", "unix_millis(started_at)", "duration_ms")


def test_a_state_lasts_until_the_next(spark: SparkSession, tmp_path: Path) -> None:
    """Lines that change nothing don't end it, and the last one has no end: it is in no sum."""
    journal = Journal().add(0, "group.created", EMPTY, cause="join").add(5, "group.member.joined", EMPTY)
    journal.rebalance(10, 30).add(100, "group.member.joined", STABLE)
    happened = events(read(spark, tmp_path, journal.lines))
    spans = states(happened)
    assert rows(spans.orderBy("since", "until"), *STATES) == [
        (EMPTY, 0, 10),
        (PREPARING, 10, 30),
        (STABLE, 30, None),
        (COMPLETING, 30, 30),
    ]
    (found,) = rows(
        transforms.by_group(happened, spans, transforms.rebalances(happened)),
        "not_stable_ms", "stable_ms", "empty_ms", "unfinished_state", "unix_millis(unfinished_since)", "lines",
    )  # fmt: skip
    assert found == (20, 0, 10, STABLE, 30, 6)


def test_a_group_that_is_gone_has_no_state(spark: SparkSession, tmp_path: Path) -> None:
    """Nor is anything unfinished then."""
    journal = Journal().add(0, "group.created", EMPTY).add(7, "group.deleted", EMPTY, cause="requested")
    journal.add(50, "group.created", EMPTY).add(60, "group.unloaded", EMPTY)
    assert rows(states(events(read(spark, tmp_path, journal.lines))), *STATES) == [(EMPTY, 0, 7), (EMPTY, 50, 60)]


def test_what_a_killed_broker_left_open_stays_open(spark: SparkSession, tmp_path: Path) -> None:
    """It ended who knows when, and not when the next broker loaded the group."""
    journal = Journal().add(0, "group.created", EMPTY)
    journal.add(10, "group.rebalance.started", PREPARING, cause="member_joined", member_id="ana")
    journal.add(90_000, "group.loaded", STABLE)
    happened = events(read(spark, tmp_path, journal.lines))
    assert rows(states(happened), *STATES) == [(EMPTY, 0, 10), (PREPARING, 10, None), (STABLE, 90_000, None)]
    assert rows(transforms.rebalances(happened), *REBALANCES) == [("member_joined", "unfinished", 10, None)]


def test_each_rebalance_has_a_cause_and_an_outcome(spark: SparkSession, tmp_path: Path) -> None:
    """Completed, interrupted by another, with nobody left, or with the group's node; and how long it took."""
    journal = Journal().add(0, "group.created", EMPTY).rebalance(1, 4)
    journal.add(10, "group.rebalance.started", PREPARING, cause="session_expired", member_id="bo")
    journal.add(15, "group.rebalance.started", PREPARING, cause="member_left", member_id="ana")
    journal.add(18, "group.emptied", EMPTY, duration_ms=3)
    journal.add(20, "group.rebalance.started", PREPARING, cause="member_joined", member_id="cy")
    journal.add(29, "group.unloaded", PREPARING)
    happened = events(read(spark, tmp_path, journal.lines))
    found = transforms.rebalances(happened)
    assert rows(found, *REBALANCES) == [
        ("member_joined", "completed", 1, 3),
        ("session_expired", "interrupted", 10, 5),
        ("member_left", "emptied", 15, 3),
        ("member_joined", "abandoned", 20, 9),
    ]
    sums = transforms.by_cause(found, "group").orderBy("cause")
    assert rows(sums, "group", "cause", "rebalances", "completed", "abandoned", "total_ms", "longest_ms") == [
        ("g", "member_joined", 2, 1, 1, 12, 9),
        ("g", "member_left", 1, 0, 0, 3, 3),
        ("g", "session_expired", 1, 0, 0, 5, 5),
    ]


def test_who_fell_silent_left_partitions_unread(spark: SparkSession, tmp_path: Path) -> None:
    """From its last sign of life, which is longer than the rebalance; two at once count once for their group."""
    journal = Journal().add(0, "group.created", EMPTY).rebalance(1, 4)
    journal.killed(50_000, silent_ms=45_000, took_ms=20, member="bo").killed(51_000, 45_000, 10, member="cy")
    journal.add(60_000, "group.rebalance.started", PREPARING, cause="member_left", member_id="dan")
    journal.add(60_500, "group.member.removed", PREPARING, cause="join_expired", member_id="eva", silent_ms=900)
    journal.add(60_500, "group.rebalance.completed", STABLE)
    happened = events(read(spark, tmp_path, journal.lines))
    found = transforms.rebalances(happened)
    assert rows(found, "cause", "duration_ms", "unread_ms") == [
        ("member_joined", 3, 3),
        ("session_expired", 20, 45_020),
        ("session_expired", 10, 45_010),
        ("member_left", 500, 900),
    ]
    by_group = transforms.by_group(happened, states(happened), found)
    assert rows(by_group, "not_stable_ms", "unread_ms") == [(533, 3 + 51_010 - 5_000 + 900)]


@pytest.mark.parametrize("has_line_numbers", [True, False], ids=["numbered", "of an older broker"])
def test_lines_of_one_millisecond_have_an_order(spark: SparkSession, tmp_path: Path, has_line_numbers: bool) -> None:
    """With a clock that stands still everything happens at once, and lines may come from several files."""
    journal = Journal().add(5, "group.created", EMPTY).rebalance(5, 5, "member_joined")
    journal.rebalance(5, 5, "leader_rejoined").add(5, "group.rebalance.started", PREPARING, cause="member_left")
    journal.add(5, "group.emptied", EMPTY)
    lines = [line if has_line_numbers else {k: v for k, v in line.items() if k != "line"} for line in journal.lines]
    random.Random(7).shuffle(lines)
    happened = events(read(spark, tmp_path, lines))
    assert rows(transforms.rebalances(happened), "cause", "outcome") == [
        ("member_joined", "completed"),
        ("leader_rejoined", "completed"),
        ("member_left", "emptied"),
    ]
    assert rows(happened.agg({"lost": "sum"}), "*") == [(0,)]


def test_a_group_deleted_and_made_again_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """Its sequence begins anew within the millisecond; the lines' numbers know which came first."""
    journal = Journal().add(0, "group.created", EMPTY).add(5, "group.member.joined", EMPTY)
    journal.add(5, "group.deleted", EMPTY).add(5, "group.created", EMPTY).add(5, "group.rebalance.started", PREPARING)
    happened = events(read(spark, tmp_path, journal.lines))
    assert rows(states(happened), *STATES) == [(EMPTY, 0, 5), (EMPTY, 5, 5), (PREPARING, 5, None)]


def test_lost_and_unusable_lines_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """A torn line, one of a later version, one without a group; and a sequence with a hole."""
    journal = Journal().add(0, "group.created", EMPTY).rebalance(1, 2).rebalance(3, 4)
    lines: list[Line | str] = [*journal.lines]
    del lines[2:4]
    lines += ['{"v":1,"t":9,"gro', {**journal.lines[0], "v": 2}, {"v": 1, "t": 5}, "7", ""]
    frame = read(spark, tmp_path, lines)
    assert rows(frame.where(~is_usable()), "count(*)") == [(4,)]
    assert rows(events(frame), "count(*)", "sum(lost)") == [(5, 2)]


def test_who_came_and_went(spark: SparkSession, tmp_path: Path) -> None:
    """Each member, how often it did what, and how many rebalances were because of it."""
    journal = Journal().add(0, "group.created", EMPTY)
    journal.add(1, "group.member.joined", EMPTY, member_id="ana", client_id="shop", client_host="/10.0.0.1")
    journal.rebalance(2, 3)
    journal.add(4, "group.member.rejoined", STABLE, member_id="ana")
    journal.add(5, "group.member.removed", STABLE, member_id="ana", cause="session_expired")
    journal.add(6, "group.member.removed", STABLE, member_id="bo", cause="member_left")
    found = transforms.members(events(read(spark, tmp_path, journal.lines))).orderBy("member_id")
    columns = (
        "member_id",
        "client_id",
        "client_host",
        "joined",
        "rejoined",
        "removed",
        "left",
        "expired",
        "rebalances",
    )
    assert rows(found, *columns) == [
        ("ana", "shop", "/10.0.0.1", 1, 1, 1, 0, 1, 1),
        ("bo", None, None, 0, 0, 1, 1, 0, 0),
    ]

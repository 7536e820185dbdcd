"""A topic and its mirror on hand-made frames: what headers say, what is equal, and where a group is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from ottla.pipeline.source_header import SOURCE_HEADER, read_mark
from ottla.pipeline.transforms import mirror

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC_ID = "AAAAAAAAAAEAAAAAAAAAAg"
TIME = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key:string,value:binary>>"
)

Headers = list[tuple[str, bytes | None]] | None


def records(spark: SparkSession, *rows: tuple[int, bytes | None, bytes | None, Headers]) -> DataFrame:
    """Records of partition 0 of orders: offset, key, value, headers."""
    return spark.createDataFrame(
        [("orders", 0, offset, TIME, key, value, headers) for offset, key, value, headers in rows], SCHEMA
    )


def came_from(offset: int, topic_id: str = TOPIC_ID) -> tuple[str, bytes | None]:
    return SOURCE_HEADER, f"{topic_id}:{offset}".encode()


def counts(source: DataFrame, target: DataFrame) -> dict[str, int]:
    """What isn't zero of a comparison."""
    lines = mirror.compared(mirror.digests(source), mirror.marks(target, {"orders": TOPIC_ID})).collect()
    assert len(lines) == 1
    line = lines[0].asDict()
    assert (line.pop("topic"), line.pop("partition")) == ("orders", 0)
    return {name: count for name, count in line.items() if count}


def headers_of(frame: DataFrame) -> list[list[tuple[str, Any]]]:
    rows = frame.orderBy("offset").collect()
    return [
        [(h["key"], h["value"] if h["value"] is None else bytes(h["value"])) for h in row["headers"]] for row in rows
    ]


def test_a_record_says_where_it_comes_from(spark: SparkSession) -> None:
    """Other headers stay, in order; that of an earlier mirror goes."""
    frame = records(
        spark,
        (3, b"k", b"v", None),
        (7, b"k", b"v", [("a", b"1"), came_from(99, "of-another"), ("a", None)]),
    )
    assert headers_of(mirror.marked(frame, TOPIC_ID)) == [
        [came_from(3)],
        [("a", b"1"), ("a", None), came_from(7)],
    ]
    assert read_mark(f"{TOPIC_ID}:7".encode()) == (TOPIC_ID, 7)


@pytest.mark.parametrize("value", [b"", b"7", b":7", b"id:", b"id:-7", b"id:x", b"\xff:7"])
def test_what_is_no_such_header(value: bytes) -> None:
    assert read_mark(value) is None


def test_a_mirror_is_equal_to_its_source(spark: SparkSession) -> None:
    """Nulls, gaps and repeated headers and all: `marked` changes nothing that counts."""
    source = records(
        spark,
        (0, None, b"v", None),
        (5, b"v", None, []),
        (6, b"", b"", [("a", b"1"), ("a", None)]),
    )
    assert counts(source, mirror.marked(source, TOPIC_ID)) == {"equal": 3}


def test_what_differs_is_different(spark: SparkSession) -> None:
    """A key is no value, an empty key is no missing one, a header with nothing in it is a header."""
    others: list[tuple[bytes | None, bytes | None, Headers]] = [
        (b"v", None, None),
        (b"", b"v", None),
        (None, b"w", None),
        (None, b"v", [("a", b"1")]),
        (None, b"v", [("a", None)]),
    ]
    source = records(spark, *((offset, None, b"v", None) for offset in range(6)))
    target = records(spark, *((offset, *other) for offset, other in enumerate([*others, (None, b"v", None)])))
    assert counts(source, mirror.marked(target, TOPIC_ID)) == {"different": 5, "equal": 1}


def test_what_is_missing_gone_late_and_foreign(spark: SparkSession) -> None:
    """Source 0-3; the mirror has 0, then 2 before 1, 2 again, one the source has lost, and two of somebody else."""
    source = records(spark, *((offset, b"k", b"%d" % offset, None) for offset in range(4)))
    offsets = (0, 2, 1, 2, 9)
    target = records(
        spark,
        *((at, b"k", b"%d" % offset, [came_from(offset)]) for at, offset in enumerate(offsets)),
        (5, b"k", b"v", None),
        (6, b"k", b"v", [came_from(6, "of-another")]),
    )
    assert counts(source, target) == {"equal": 4, "missing": 1, "gone": 1, "late": 2, "foreign": 2}


def positions(spark: SparkSession, commits: Sequence[tuple[str, int]], marks: Sequence[tuple[int, int | None]]) -> Any:
    """Where groups are, of what they have committed, in a mirror of these offsets: its own, and the source's."""
    target = [("orders", 0, offset, source) for offset, source in marks]
    frame = mirror.translated(
        spark.createDataFrame(
            [(group, topic, 0, offset, "md") for group, offset in commits for topic in ("orders", "unknown")],
            "group string, topic string, partition int, committed_offset bigint, metadata string",
        ),
        spark.createDataFrame(target, "topic string, partition int, offset bigint, source_offset bigint"),
        spark.createDataFrame([("orders", 0, 20)], "topic string, partition int, start bigint"),
    )
    assert frame.columns == ["group", "topic", "partition", "offset", "metadata"]
    rows = frame.collect()
    assert {(row["topic"], row["partition"], row["metadata"]) for row in rows} <= {("orders", 0, "md")}
    return {row["group"]: row["offset"] for row in rows}


def test_a_group_is_at_the_first_record_at_or_beyond(spark: SparkSession) -> None:
    """Source offsets 5, 8, 9 with gaps before, between and behind; two groups may be at one place."""
    commits = [("before", 0), ("at", 5), ("in", 6), ("in too", 6), ("on", 8), ("last", 9), ("end", 10), ("beyond", 50)]
    assert positions(spark, commits, [(20, 5), (21, 8), (22, 9)]) == {
        "before": 20, "at": 20, "in": 21, "in too": 21, "on": 21, "last": 22, "end": 23, "beyond": 23,
    }  # fmt: skip


def test_others_records_are_passed_over(spark: SparkSession) -> None:
    """Somebody else's record in the mirror is nobody's position, and not its end."""
    assert positions(spark, [("on", 1), ("end", 2)], [(20, 0), (21, None), (22, 1), (23, None)]) == {
        "on": 22,
        "end": 23,
    }


def test_an_empty_mirror_has_its_beginning(spark: SparkSession) -> None:
    """All records may be gone at the source before they could be mirrored."""
    assert positions(spark, [("lonely", 7)], []) == {"lonely": 20}

"""When records are due, on hand-made frames, and holding them back until then, by a clock that only sleeping moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow
import pytest

from ottla.pipeline.pacing import LEAD_SECONDS, ReplayPace
from ottla.pipeline.transforms.pace import due, in_due_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_order_within_a_partition_wins_over_times(spark: SparkSession) -> None:
    """A record older than the one before it comes with that one; other partitions don't care."""
    rows = [("t", 0, 0, 1000), ("t", 0, 1, 3000), ("t", 0, 2, 2000), ("t", 0, 5, 3001), ("t", 1, 0, 1500)]
    frame = spark.createDataFrame(rows, "topic string, partition int, offset bigint, ms bigint").selectExpr(
        "topic", "partition", "offset", "offset AS position", "timestamp_millis(ms) AS timestamp"
    )
    played = in_due_order(due(frame))
    assert played.rdd.getNumPartitions() == 1
    found = [(row["partition"], row["offset"], row["due_ms"]) for row in played.collect()]
    assert found == [(0, 0, 1000), (1, 0, 1500), (0, 1, 3000), (0, 2, 3000), (0, 5, 3001)]


class Time:
    """A clock that sleeping moves, and whatever takes its time."""

    def __init__(self) -> None:
        self.now = 100.0

    def seconds(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def played(speed: float, batches: Sequence[Sequence[int]], hand_over_seconds: float = 0.0) -> tuple[list[float], float]:
    """When each row came, after the lead, and how late the latest was at most."""
    time = Time()
    pace = ReplayPace(speed, time.seconds, time.sleep)
    came = []
    for piece in pace.pieces(pyarrow.RecordBatch.from_pydict({"due_ms": list(batch)}) for batch in batches):
        came += [time.now - 100 - LEAD_SECONDS] * piece.num_rows
        time.now += hand_over_seconds
    return came, pace.late_seconds_max


def test_rows_come_when_they_are_due() -> None:
    """From one batch to the next, several at once, and with nothing to do for hours."""
    came, late_seconds_max = played(1, [[5_000, 5_000, 5_250], [5_251, 7_205_000]])
    assert came == pytest.approx([0, 0, 0.25, 0.251, 7200])
    assert late_seconds_max == pytest.approx(0)


@pytest.mark.parametrize(("speed", "seconds"), [(10, 0.1), (0.5, 2.0)])
def test_speed(speed: float, seconds: float) -> None:
    """Ten times as fast, or half."""
    assert played(speed, [[5_000, 6_000]])[0] == pytest.approx([0, seconds])


def test_who_is_late_catches_up() -> None:
    """Handing over takes 40 ms: what is due meanwhile comes at once after it, and the one after a pause on time."""
    came, late_seconds_max = played(1, [[0, 10, 20, 1000]], hand_over_seconds=0.04)
    assert came == pytest.approx([0, 0.04, 0.04, 1])
    assert late_seconds_max == pytest.approx(0.07)


def test_much_at_once_comes_in_pieces() -> None:
    """The producer is looked after in between; none is lost, none is twice."""
    came, late_seconds_max = played(1, [[0] * 1201], hand_over_seconds=0.001)
    assert len(came) == 1201
    assert len(set(came)) == 3
    assert late_seconds_max == pytest.approx(0.003)

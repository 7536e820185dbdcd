"""Rows of any kind become records to send; a piece of many records is the same whenever it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ottla.pipeline.transforms.records import LINE, in_order, lines_to_send, rows_to_send, without_first
from ottla.pipeline.transforms.sampling import first_of_each_partition, sampled, within

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TO_SEND = "partition int, key binary, value binary, headers array<struct<key:string,value:binary>>, position bigint"


def records(spark: SparkSession, count: int) -> DataFrame:
    """Of two partitions, each key twice in a row, a second apart."""
    rows = [
        ("t", number % 2, number // 2, b"%d" % (number // 4), datetime.fromtimestamp(number, UTC))
        for number in range(count)
    ]
    return spark.createDataFrame(rows, "topic string, partition int, offset bigint, key binary, timestamp timestamp")


@pytest.mark.parametrize("partitions", [1, 2, 4, 7])
def test_each_partition_has_a_task_of_its_own(spark: SparkSession, partitions: int) -> None:
    """None waits for another, whatever Spark's hash of their numbers is; and in a task they are in order."""
    rows = [(number % partitions, -number) for number in range(40)]
    ordered = in_order(spark.createDataFrame(rows, "partition int, position bigint"), partitions)
    tasks = [[tuple(row) for row in task] for task in ordered.rdd.glom().collect()]
    assert sorted(sorted({row[0] for row in task}) for task in tasks) == [[number] for number in range(partitions)]
    assert all(task == sorted(task) for task in tasks)


def test_without_partitions_all_are_in_one_task(spark: SparkSession) -> None:
    rows = [(None, -number) for number in range(40)]
    ordered = in_order(spark.createDataFrame(rows, "partition int, position bigint"), 4)
    counts = [len(task) for task in ordered.rdd.glom().collect()]
    assert sorted(counts) == [0, 0, 0, 40]


def test_a_row_is_json_unless_a_field_is_named(spark: SparkSession) -> None:
    """Its place is no part of it; numbers are text, as a person would write them."""
    rows = spark.createDataFrame([(7, None, "b", 0)], "id int, gone string, name string, _row bigint")
    (whole,) = rows_to_send(rows, key="id", value=None, timestamp=None).collect()
    assert (whole["key"], whole["value"], whole["partition"], whole["timestamp_ms"]) == (
        b"7",
        b'{"id":7,"name":"b"}',
        None,
        None,
    )
    (named,) = rows_to_send(rows, key="gone", value="name", timestamp=None).collect()
    assert (named["key"], named["value"]) == (None, b"b")


def test_times_of_every_kind(spark: SparkSession) -> None:
    """A number is milliseconds, as is text of one; a date and time has a zone, or is of UTC."""
    texts = ["1772409599500", "2026-03-01T23:59:59.5Z", "2026-03-01 23:59:59.5", "2026-03-02T00:59:59.5+01:00"]
    frame = spark.createDataFrame([(text, 0) for text in texts], "at string, _row bigint")
    made = rows_to_send(frame, key=None, value=None, timestamp="at").collect()
    assert [row["timestamp_ms"] for row in made] == [1_772_409_599_500] * len(texts)


def test_a_line_is_sent_to_the_byte(spark: SparkSession) -> None:
    """Blank lines are none; a field that is an object is JSON, and one that is missing is null."""
    lines = ['{ "k": {"a": 1} }', "  ", '{"x.y": 2}']
    frame = spark.createDataFrame([(line, place) for place, line in enumerate(lines)], f"{LINE} string, _row bigint")
    made = lines_to_send(frame, key="k", value=None, timestamp=None).orderBy("position").collect()
    assert [(row["key"], row["value"]) for row in made] == [(b'{"a":1}', lines[0].encode()), (None, lines[2].encode())]
    dotted = lines_to_send(frame, key="x.y", value=None, timestamp=None).orderBy("position").collect()
    assert [row["key"] for row in dotted] == [None, b"2"]


def test_the_first_of_a_partition_can_be_left_out(spark: SparkSession) -> None:
    """By their place, not by their number: offsets have gaps."""
    rows = [(partition, None, None, None, 10 * place) for partition in (0, 1) for place in range(4)]
    made = without_first(spark.createDataFrame(rows, TO_SEND), {0: 3, 1: 0}).collect()
    assert sorted((row["partition"], row["position"]) for row in made) == [(0, 30), *((1, 10 * n) for n in range(4))]


def test_a_sample_is_the_same_again(spark: SparkSession) -> None:
    """By key, all records of a key are in it or none; about as many as asked for; 1 is all."""
    frame = records(spark, 2000)
    chosen = [sampled(frame, 0.25, by_key=True).orderBy("partition", "offset").collect() for _ in range(2)]
    assert chosen[0] == chosen[1]
    assert 350 < len(chosen[0]) < 650
    keys = [bytes(row["key"]) for row in chosen[0]]
    assert all(keys.count(key) == 4 for key in set(keys))
    assert 350 < sampled(frame, 0.25, by_key=False).count() < 650
    assert sampled(frame, 1, by_key=False).count() == 2000


def test_bounds(spark: SparkSession) -> None:
    """From a time on and before another; the first so many of each partition."""
    frame = records(spark, 20)
    times = (datetime.fromtimestamp(5, UTC), datetime.fromtimestamp(9, UTC))
    assert sorted(row["timestamp"].second for row in within(frame, *times).collect()) == [5, 6, 7, 8]
    first = first_of_each_partition(frame, 2).collect()
    assert sorted((row["partition"], row["offset"]) for row in first) == [(0, 0), (0, 1), (1, 0), (1, 1)]

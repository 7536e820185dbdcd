"""Records as files keep them, and records on their way into a topic.

    kept      topic, date, partition, offset, timestamp, timestampType, key, value, headers. What `export` and `capture`
              write and `seed` reads; names and types are those of Spark's connector. `date` is the timestamp's day in
              UTC, and there only to lay files out by
    to send   partition, key, value, headers, timestamp_ms, position. What a producer is given. A partition that is null
              is chosen by the key, a timestamp_ms that is null is the time of the write; `position` is what records
              are in order by, within their partition

Rows that were never records (JSON lines, CSV, any other Parquet) have fields instead, of which the caller says what
they mean.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from ottla.pipeline.transforms.task_keys import task_keys

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
KEPT: Final = ("partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
#: Folders of the layout: topic=orders/date=2026-03-01/part-….parquet.
LAYOUT: Final = ("topic", "date")
#: Made of a row's place in its file, where there is no offset.
ROW: Final = "_row"
#: A line of JSON, whole.
LINE: Final = "_line"
_MILLIS_PATTERN: Final = r"^-?\d+$"


def kept(records: DataFrame) -> DataFrame:
    """Records of the connector, read with headers, as they are kept."""
    return records.select("topic", F.to_date("timestamp").alias("date"), *KEPT)


def key_and_value_bytes() -> Column:
    """How long a record's key and value are, together."""
    return F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))


def are_kept(frame: DataFrame) -> bool:
    """Whether these are records as they are kept, and not rows of something else."""
    types = dict(frame.dtypes)
    return all(name in types for name in KEPT) and types["value"] == "binary"


def kept_to_send(records: DataFrame, *others: str, with_timestamps: bool) -> DataFrame:
    """Kept records, each to the partition it was in, in the order of their offsets; and other columns as they are."""
    timestamp_ms = F.unix_millis("timestamp") if with_timestamps else F.lit(None).cast("bigint")
    return records.select(
        "partition",
        "key",
        "value",
        "headers",
        timestamp_ms.alias("timestamp_ms"),
        F.col("offset").alias("position"),
        *others,
    )


def rows_to_send(rows: DataFrame, *, key: str | None, value: str | None, timestamp: str | None) -> DataFrame:
    """Rows of any kind, with their place in `_row`: fields become key, value and timestamp.

    Without `value` the whole row is one, as JSON. A timestamp is a date and time, or a number or text of milliseconds.
    Raises in the executor where a timestamp can't be read: a record at a wrong time is worse than none.
    """
    whole = F.to_json(F.struct(*(_column(name) for name in rows.columns if name != ROW)))
    return _to_send(
        rows,
        key=_column(key) if key else F.lit(None),
        value=_column(value) if value else whole,
        timestamp=_column(timestamp) if timestamp else None,
    )


def lines_to_send(lines: DataFrame, *, key: str | None, value: str | None, timestamp: str | None) -> DataFrame:
    """JSON objects as text in `_line`, with their place in `_row`. Without `value` it is the line, to the byte."""
    line = F.col(LINE)
    return _to_send(
        lines.where(F.length(F.trim(line)) > 0),
        key=_field(line, key) if key else F.lit(None),
        value=_field(line, value) if value else line,
        timestamp=_field(line, timestamp) if timestamp else None,
    )


def lines_with(lines: DataFrame, field: str) -> DataFrame:
    """Those of JSON objects as text in `_line` that have something in a field."""
    return lines.where(_field(F.col(LINE), field).isNotNull())


def without_first(records: DataFrame, done: dict[int, int]) -> DataFrame:
    """Records to send without the first so many of a partition: those that are there already."""
    place = F.row_number().over(Window.partitionBy("partition").orderBy("position"))
    counts = F.create_map(*(F.lit(number) for entry in done.items() for number in entry))
    numbered = records.withColumn("_place", place)
    return numbered.where(F.col("_place") > F.coalesce(counts[F.col("partition")], F.lit(0))).drop("_place")


def in_order(records: DataFrame, tasks: int) -> DataFrame:
    """Records to send, those of a partition in one task and in order; those without a partition all in one.

    With as many tasks as partitions each has its own. Left to Spark's hash, four would share two tasks, and two one.
    """
    key = F.get(F.array(*map(F.lit, task_keys(tasks))), F.col("partition") % tasks)
    return records.repartition(tasks, key).sortWithinPartitions("partition", "position")


def _to_send(rows: DataFrame, *, key: Column, value: Column, timestamp: Column | None) -> DataFrame:
    timestamp_ms = F.lit(None).cast("bigint") if timestamp is None else _millis(timestamp)
    return rows.select(
        F.lit(None).cast("int").alias("partition"),
        _bytes(key).alias("key"),
        _bytes(value).alias("value"),
        F.lit(None).cast(HEADERS_TYPE).alias("headers"),
        timestamp_ms.alias("timestamp_ms"),
        F.col(ROW).alias("position"),
    )


def _column(name: str) -> Column:
    """A column by its whole name; Spark takes a dot for a way into it."""
    return F.col("`" + name.replace("`", "``") + "`")


def _field(line: Column, name: str) -> Column:
    """A field of a JSON object, as text; an object or list within as JSON."""
    return F.get_json_object(line, f"$['{name}']")


def _bytes(data: Column) -> Column:
    """Text as UTF-8; numbers and times as text first, for Spark would take their inner bytes."""
    return data.cast("string").cast("binary")


def _millis(timestamp: Column) -> Column:
    text = timestamp.cast("string")
    millis = F.when(text.rlike(_MILLIS_PATTERN), text.try_cast("bigint")).otherwise(
        F.unix_millis(F.try_to_timestamp(text))
    )
    complaint = F.concat(F.lit("not a time: "), F.coalesce(text, F.lit("null")))
    return F.coalesce(millis, F.raise_error(complaint).cast("bigint"))

"""Journals on Spark: `ottla.rebalances` reads the lines, and analyses the groups, each task a share of them.

Spark sorts: the lines of a group come to one task, in order, so a task holds one group at a time, and of the groups
before it an `Analysis`. That is the same analysis that `ottla rebalances` makes.
"""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from ottla.rebalances.analysis import Analysis
from ottla.rebalances.lines import ALL_OUTCOMES, JournalLine, line_of
from ottla.rebalances.story import CauseSums, Story

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from ottla.terminal.output import Item

_INTEGERS: Final = ("t", "number", "seq", "silent_ms")
_SCHEMA: Final = ", ".join(f"{name} {'bigint' if name in _INTEGERS else 'string'}" for name in JournalLine._fields)
_OUTCOMES: Final = ", ".join(f"{outcome} bigint" for outcome in ALL_OUTCOMES)
#: The tables with everything, and their columns. Times are milliseconds.
TABLES: Final = {
    "groups": "group string, lines bigint, lost_lines bigint, joined bigint, removed bigint, not_stable_ms bigint, "
    "stable_ms bigint, empty_ms bigint, unfinished_state string, unfinished_since_ms bigint, rebalances bigint, "
    f"{_OUTCOMES}, longest_ms bigint, unread_ms bigint",
    "causes": f"group string, cause string, rebalances bigint, {_OUTCOMES}, total_ms bigint, median_ms bigint, "
    "p95_ms bigint, longest_ms bigint, unread_ms bigint",
    "rebalances": "group string, started_ms bigint, ended_ms bigint, duration_ms bigint, unread_ms bigint, "
    "cause string, member_id string, outcome string",
    "states": "group string, state string, since_ms bigint, until_ms bigint, duration_ms bigint",
    "members": "group string, member_id string, client_id string, client_host string, joined bigint, rejoined bigint, "
    "replaced bigint, removed bigint, left bigint, expired bigint, rebalances bigint",
}
#: The times in them, and the names of their columns in Parquet.
_TIMES: Final = {
    "unfinished_since_ms": "unfinished_since",
    "started_ms": "started_at",
    "ended_ms": "ended_at",
    "since_ms": "since",
    "until_ms": "until",
}
#: With tables a task holds so many members of a group.
_MEMBERS_MAX: Final = 1_000_000
_BATCH_ROWS: Final = 10_000


def texts(spark: SparkSession, journals: list[str]) -> DataFrame:
    """The lines of files as they are."""
    return spark.read.option("lineSep", "\n").text(journals).select(F.col("value").cast("binary"))


def read(texts: DataFrame) -> DataFrame:
    """Texts as lines: the columns are those of `JournalLine`. A line that is not usable has nothing but nulls."""
    return texts.mapInArrow(_read, _SCHEMA)


def analyse(lines: DataFrame, top: int, *, with_tables: bool) -> DataFrame:
    """Usable lines to `name` and `value`: each task's analysis, without name; with_tables: all rows of `TABLES` too."""
    in_order = lines.repartition("group").sortWithinPartitions("group", "t", "number", "seq")
    return in_order.mapInArrow(_analyse(top, with_tables), "name string, value binary")


def merged(analysed: DataFrame, top: int) -> Analysis:
    """The analysis of all tasks."""
    analysis = Analysis(top)
    for row in analysed.where("name is null").collect():
        analysis.merge(pickle.loads(row.value))
    return analysis


def table(analysed: DataFrame, name: str) -> DataFrame:
    """One of `TABLES`, with timestamps."""
    row = F.from_json(F.col("value").cast("string"), TABLES[name]).alias("row")
    found = analysed.where(F.col("name") == name).select(row).select("row.*")
    times = {column: F.timestamp_millis(column).alias(name) for column, name in _TIMES.items()}
    return found.select(*(times.get(column, F.col(column)) for column in found.columns))


def _read(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    unusable = JournalLine(*[None] * len(JournalLine._fields))  # type: ignore[arg-type]
    types = [pyarrow.int64() if name in _INTEGERS else pyarrow.string() for name in JournalLine._fields]
    for batch in batches:
        texts = (text for text in batch.column(0).to_pylist() if text and not text.isspace())
        lines = [line_of(text) or unusable for text in texts]
        columns = zip(*lines, strict=True) if lines else [()] * len(types)
        arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        yield pyarrow.RecordBatch.from_arrays(arrays, JournalLine._fields)


def _analyse(top: int, with_tables: bool) -> Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        rows = _rows(_lines(batches), top, with_tables)
        while some := list(islice(rows, _BATCH_ROWS)):
            names, values = zip(*some, strict=True)
            arrays = [pyarrow.array(names, pyarrow.string()), pyarrow.array(values)]
            yield pyarrow.RecordBatch.from_arrays(arrays, ["name", "value"])

    return run


def _rows(lines: Iterable[JournalLine], top: int, with_tables: bool) -> Iterator[tuple[str | None, bytes]]:
    analysis = Analysis(top)
    told: list[tuple[str, Item]] = []

    def tell(name: str, item: Item) -> None:
        told.append((name, item))

    for group, of_group in groupby(lines, lambda line: line.group):
        causes: defaultdict[str | None, CauseSums] = defaultdict(CauseSums)
        story = Story(group, causes, tell, _MEMBERS_MAX) if with_tables else Story(group, causes)
        for line in of_group:
            story.add(line)
            if told:
                yield from ((name, json.dumps(item).encode()) for name, item in told)
                told.clear()
        story.end()
        told.append(("groups", analysis.add(story)))
        analysis.merge_causes(causes)
        if with_tables:
            told += (("causes", {"group": group, **sums.item(cause)}) for cause, sums in causes.items())
            told += (("members", item) for item in story.member_items())
            yield from ((name, json.dumps(item).encode()) for name, item in told)
        told.clear()
    yield None, pickle.dumps(analysis)


def _lines(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[JournalLine]:
    for batch in batches:
        yield from map(JournalLine._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))

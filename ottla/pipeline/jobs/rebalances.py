"""`ottla pipeline rebalances`: what a broker's journal says of its groups: why they rebalanced, how often, how long.

Reads what `ottla serve --journal FILE` wrote (docs/journal.md), any number of files. Tables go to the terminal, all of
it to Parquet, and a report with the timeline to an HTML file that needs nothing else.
"""

from __future__ import annotations

import argparse
import glob
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

from ottla.pipeline.job import Job, Outcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import local_path, refuse_unless_free, size_bytes, uri, write_text
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork
from ottla.terminal.output import Columns, Item, print_line, print_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: By title.
Tables: TypeAlias = dict[str, tuple[list[Item], Columns]]

TOP_DEFAULT: Final = 20
#: Of the longest states, and of the longest rebalances, for each group in the timeline.
DRAWN_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    journals: list[str]
    groups: list[str]
    """Empty: all."""
    top: int
    output: str | None
    report: str | None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "journals",
        metavar="JOURNAL",
        nargs="+",
        help="a file that `ottla serve --journal` wrote, a folder of them, or a pattern like 'journals/*.jsonl'; "
        "also as a URI",
    )
    parser.add_argument(
        "--group", metavar="GROUP", action="append", default=[], help="only this group (default: all); may be repeated"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=TOP_DEFAULT,
        help="show and draw the N groups that were not Stable for the longest time, and the N members with the most "
        f"rebalances (default: {TOP_DEFAULT})",
    )
    parser.add_argument("--report", metavar="URI", help="a new HTML file for the tables and the timeline")
    parser.add_argument(
        "--output",
        metavar="URI",
        help="a new folder for all of it as Parquet: groups, causes, rebalances, states, members",
    )


def check(options: argparse.Namespace) -> Plan:
    if options.top < 0:
        raise CannotUse(f"--top {options.top} is below 0; it is how many groups to show")
    for journal in options.journals:
        _refuse_unless_there(journal)
    for option, place in (("--output", options.output), ("--report", options.report)):
        if place is not None:
            refuse_unless_free(place, option)
    journals = list(dict.fromkeys(uri(journal) for journal in options.journals))  # one named twice is read once
    return Plan(journals, options.group, options.top, options.output, options.report)


def _refuse_unless_there(journal: str) -> None:
    path = local_path(journal)
    if path is None:
        return
    found = glob.glob(str(path)) if glob.has_magic(str(path)) else [str(path)] * path.exists()
    if not found:
        raise CannotWork(f"there is no journal {journal}; `ottla serve --journal FILE` writes one")
    if path.name.startswith(("_", ".")):
        raise CannotWork(f"Spark ignores files whose names begin with _ or a dot, such as {journal}; rename it")


def run(spark: SparkSession, plan: Plan, progress: Progress) -> Outcome:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.storagelevel import StorageLevel

    from ottla.pipeline.transforms.journal import SCHEMA, UNREADABLE, events, is_usable

    for option, place in (("--output", plan.output), ("--report", plan.report)):
        if place is not None:
            refuse_unless_free(place, option, spark)
    progress.step(f"reading {', '.join(plan.journals)}")
    seen = Observation()
    files = spark.read.schema(SCHEMA).option("columnNameOfCorruptRecord", UNREADABLE).json(plan.journals)
    lines = files.observe(seen, F.count("*").alias("lines"), F.count_if(~is_usable()).alias("passed_over"))
    if plan.groups:
        lines = lines.where(F.col("group").isin(plan.groups))
    # On disk, where there is always room: what of it is read again is in the system's cache anyway.
    happened = events(lines).persist(StorageLevel.DISK_ONLY)
    found = _find(happened)
    if plan.output is not None:
        for name, frame in found.items():
            progress.step(f"writing {name}")
            frame.write.parquet(f"{uri(plan.output)}/{name}")
    progress.step("summing up")
    totals, tables = _sum_up(found, plan.top)
    if plan.report is not None:
        progress.step("drawing")
        write_text(spark, plan.report, _report(found, totals, tables))
    passed_over = seen.get["passed_over"]
    if passed_over:
        progress.step(f"{passed_over} lines were passed over: no JSON, or not of a journal's version 1")
    size = sum(size_bytes(spark, unquote(file)) for file in files.inputFiles())
    return Outcome(
        seen.get["lines"],
        files.rdd.getNumPartitions(),
        size,
        {"passed_over": passed_over, **totals, **{name.lower(): items for name, (items, _) in tables.items()}},
        show=lambda: _show(tables),
    )


def _find(happened: DataFrame) -> dict[str, DataFrame]:
    """All there is to find, by the name of the folder that it is written to."""
    from ottla.pipeline.transforms.journal import states
    from ottla.pipeline.transforms.rebalances import by_cause, by_group, members, rebalances

    spans, found = states(happened), rebalances(happened)
    return {
        "groups": by_group(happened, spans, found).persist(),
        "causes": by_cause(found, "group"),
        "rebalances": found,
        "states": spans,
        "members": members(happened),
    }


def _sum_up(found: dict[str, DataFrame], top: int) -> tuple[dict[str, int], Tables]:
    """How many groups and rebalances there are, and the tables that people see."""
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.rebalances import by_cause

    groups = found["groups"].orderBy(F.desc("not_stable_ms"), F.desc("rebalances"), "group").limit(top)
    groups = groups.withColumn("unfinished_since_ms", F.unix_millis("unfinished_since")).drop("unfinished_since")
    causes = by_cause(found["rebalances"]).orderBy(F.desc("total_ms"), F.desc("rebalances"), "cause")
    members = found["members"].orderBy(F.desc("rebalances"), F.desc("removed"), "group", "member_id").limit(top)
    total = found["groups"].agg(F.count("*").alias("group_count"), F.sum("rebalances").alias("rebalance_count")).head()
    assert total is not None, "an aggregate has a row"
    return {key: count or 0 for key, count in total.asDict().items()}, {
        "Groups": (_rows(groups), _GROUPS),
        "Causes": (_rows(causes), _CAUSES),
        "Members": (_rows(members), _MEMBERS),
    }


def _report(found: dict[str, DataFrame], totals: dict[str, int], tables: Tables) -> str:
    """The HTML file, with the groups of the table drawn."""
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.report import Drawn, page

    names = [group["group"] for group in tables["Groups"][0]]
    is_drawn = F.col("group").isin(names)
    last = found["states"].agg(F.max(F.unix_millis(F.coalesce("until", "since")))).head()
    until_ms = F.coalesce(F.unix_millis("until"), F.lit(last and last[0]))
    states = _longest(found["states"].where(is_drawn), "since").select(
        "group", "state", F.unix_millis("since").alias("since_ms"), until_ms.alias("until_ms")
    )
    rebalances = _longest(found["rebalances"].where(is_drawn), "started_at").select(
        "group", F.unix_millis("started_at").alias("started_ms"), "duration_ms", "cause", "member_id", "outcome"
    )
    summary = f"{totals['rebalance_count']:,} rebalances of {totals['group_count']:,} groups"
    text = (
        f"The {len(names)} groups that were not Stable for the longest time. Marks are rebalances, by cause; "
        f"of each group the {DRAWN_MAX} longest, and as many states."
    )
    return page(summary, text, Drawn(names, _rows(states), _rows(rebalances)), tables)


def _longest(frame: DataFrame, order: str) -> DataFrame:
    """The longest of each group, as many as are drawn; what has not ended counts as long."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    rank = F.row_number().over(Window.partitionBy("group").orderBy(F.desc_nulls_first("duration_ms"), order))
    return frame.withColumn("rank", rank).where(F.col("rank") <= DRAWN_MAX).orderBy(order)


def _rows(frame: DataFrame) -> list[Item]:
    """The rows of a small result."""
    return [row.asDict() for row in frame.collect()]


def _stable_share(group: Item) -> str | None:
    known_ms = group["stable_ms"] + group["not_stable_ms"]
    return f"{group['stable_ms'] / known_ms:.1%}" if known_ms else None


_GROUPS: Final[Columns] = {
    "GROUP": "group",
    "REBALANCES": "rebalances",
    "INTERRUPTED": "interrupted",
    "NOT STABLE MS": "not_stable_ms",
    "LONGEST MS": "longest_ms",
    "STABLE": _stable_share,
    "JOINED": "joined",
    "REMOVED": "removed",
    "UNFINISHED": "unfinished_state",
    "LOST LINES": "lost_lines",
}
_CAUSES: Final[Columns] = {
    "CAUSE": "cause",
    "REBALANCES": "rebalances",
    "COMPLETED": "completed",
    "INTERRUPTED": "interrupted",
    "TOTAL MS": "total_ms",
    "MEDIAN MS": "median_ms",
    "95 % MS": "p95_ms",
    "LONGEST MS": "longest_ms",
}
_MEMBERS: Final[Columns] = {
    "MEMBER": "member_id",
    "GROUP": "group",
    "CLIENT": "client_id",
    "HOST": "client_host",
    "REBALANCES": "rebalances",
    "JOINED": "joined",
    "REJOINED": "rejoined",
    "LEFT": "left",
    "EXPIRED": "expired",
}


def _show(tables: Tables) -> None:
    for items, columns in tables.values():
        if items:
            print_table(items, columns)
            print_line()


JOB: Final[Job[Any]] = Job(
    name="rebalances",
    summary="why, how often and how long groups rebalanced, from a broker's journal",
    description="Why, how often and how long consumer groups rebalanced, from what `ottla serve --journal` wrote.\n"
    "Times are milliseconds. STABLE is the share of the time with members in which nothing was rebalanced. A state "
    "that had not ended at the journal's end is in no sum; UNFINISHED names it.\n"
    "The closing line counts the journals' lines, the partitions they were read in, and their bytes.",
    example="rebalances broker.jsonl --report rebalances.html --output rebalances.parquet",
    add_options=add_options,
    check=check,
    run=run,
    needs_connector=False,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

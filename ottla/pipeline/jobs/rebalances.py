"""`ottla pipeline rebalances`: what a broker's journal says of its groups: why they rebalanced, how often, how long.

Reads what `ottla serve --journal FILE` wrote (docs/journal.md), any number of files. Tables go to the terminal, all of
it to Parquet, and a report with the timeline to an HTML file that needs nothing else.
"""

from __future__ import annotations

import argparse
import glob
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from ottla.pipeline.job import Job, Outcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import local_path, refuse_unless_free, size_bytes, uri, write_text
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork
from ottla.pipeline.report.choice import chosen
from ottla.pipeline.report.conclusion import conclusion
from ottla.pipeline.report.found import KEPT_MAX, TOP_DEFAULT, Found, tables
from ottla.terminal.output import Item, print_line, print_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
        help="a journal of `ottla serve --journal`, a folder of them, or a pattern such as 'journals/*.jsonl'; "
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
        help="show and draw the N groups whose partitions had no reader for the longest time, and the N members with "
        f"the most rebalances (default: {TOP_DEFAULT})",
    )
    parser.add_argument("--report", metavar="URI", help="a new HTML file for the tables and the timeline")
    parser.add_argument(
        "--output",
        metavar="URI",
        help="a new folder for all tables as Parquet: groups, causes, rebalances, states, members",
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

    from ottla.pipeline.report.page import report
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
    happened.count()
    _refuse_garbage(plan, seen.get)
    found = _find(happened)
    if plan.output is not None:
        for name, frame in found.items():
            progress.step(f"writing {name}")
            frame.write.parquet(f"{uri(plan.output)}/{name}")
    progress.step("summing up")
    told = _sum_up(plan, happened, found, seen.get)
    if plan.report is not None:
        progress.step("drawing")
        write_text(spark, plan.report, report(told))
    if told.passed_over:
        progress.step(f"{told.passed_over} lines were passed over: no JSON, or not of a journal's version 1")
    size = sum(size_bytes(spark, unquote(file)) for file in files.inputFiles())
    return Outcome(told.lines, files.rdd.getNumPartitions(), size, _as_json(told), show=lambda: _show(told, plan.top))


def _refuse_garbage(plan: Plan, read: dict[str, int]) -> None:
    """Raise if there are lines, and none of them is a journal's."""
    if read["lines"] and read["lines"] == read["passed_over"]:
        raise CannotWork(
            f"{', '.join(plan.journals)} is no journal: none of its lines ({read['lines']:,}) is JSON as `ottla serve "
            "--journal FILE` writes it"
        )


def _as_json(told: Found) -> dict[str, Any]:
    names = ("passed_over", "group_count", "rebalance_count", "lost_lines", "from_ms", "until_ms")
    return {name: getattr(told, name) for name in (*names, "groups", "causes", "members")}


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


def _sum_up(plan: Plan, happened: DataFrame, found: dict[str, DataFrame], read: dict[str, int]) -> Found:
    """What people see of it: `plan.top` of each."""
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.rebalances import by_cause

    groups = found["groups"].orderBy(F.desc("unread_ms"), F.desc("not_stable_ms"), F.desc("rebalances"), "group")
    groups = groups.limit(plan.top).withColumn("unfinished_since_ms", F.unix_millis("unfinished_since"))
    causes = by_cause(found["rebalances"]).orderBy(
        F.desc("unread_ms"), F.desc("total_ms"), F.desc("rebalances"), "cause"
    )
    members = found["members"].orderBy(F.desc("rebalances"), F.desc("removed"), "group", "member_id").limit(plan.top)
    totals = found["groups"].agg(F.count("*"), F.sum("rebalances"), F.sum("lost_lines")).head() or (0, 0, 0)
    from_ms, until_ms = happened.agg(F.min("t"), F.max("t")).head() or (None, None)
    group_items = _rows(groups.drop("unfinished_since"))
    rebalances, states = _longest_of([group["group"] for group in group_items], found, until_ms)
    return Found(
        sources=[place.rstrip("/").rpartition("/")[2] for place in plan.journals],
        lines=read["lines"],
        passed_over=read["passed_over"],
        from_ms=from_ms,
        until_ms=until_ms,
        group_count=totals[0],
        rebalance_count=totals[1] or 0,
        lost_lines=totals[2] or 0,
        groups=group_items,
        causes=_rows(causes),
        members=_rows(members),
        rebalances=rebalances,
        states=states,
    )


def _longest_of(groups: list[str], found: dict[str, DataFrame], until_ms: int | None) -> tuple[list[Item], list[Item]]:
    """The rebalances and states of these groups that are shown."""
    from pyspark.sql import functions as F  # noqa: N812

    is_shown = F.col("group").isin(groups)
    clients = found["members"].select("group", "member_id", "client_id", "client_host")
    rebalances = _longest(found["rebalances"].where(is_shown), "unread_ms", "started_at")
    rebalances = rebalances.join(clients, ["group", "member_id"], "left").orderBy("started_at", "group").select(
        "group", F.unix_millis("started_at").alias("started_ms"), "duration_ms", "unread_ms", "cause", "member_id",
        "client_id", "client_host", "outcome",
    )  # fmt: skip
    states = _longest(found["states"].where(is_shown), "duration_ms", "since").select(
        "group",
        "state",
        F.unix_millis("since").alias("since_ms"),
        F.coalesce(F.unix_millis("until"), F.lit(until_ms)).alias("until_ms"),
    )
    return chosen(_rows(rebalances), _rows(states))


def _longest(frame: DataFrame, length: str, order: str) -> DataFrame:
    """The longest of each group, as many as are kept; what has not ended counts as long."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    rank = F.row_number().over(Window.partitionBy("group").orderBy(F.desc_nulls_first(length), order))
    return frame.withColumn("rank", rank).where(F.col("rank") <= KEPT_MAX).orderBy(order)


def _rows(frame: DataFrame) -> list[Item]:
    """The rows of a small result."""
    return [row.asDict() for row in frame.collect()]


def _show(found: Found, top: int) -> None:
    print_line(conclusion(found))
    print_line()
    for items, columns in tables(found, top).values():
        if items:
            print_table(items, columns)
            print_line()


JOB: Final[Job[Any]] = Job(
    name="rebalances",
    summary="why, how often and how long groups rebalanced, from a broker's journal",
    description="Show why, how often and how long groups rebalanced, from journals of `ottla serve --journal`.\n"
    "Times are milliseconds. UNSTABLE MS is the time of rebalances. UNREAD MS adds the silence of members that the "
    "broker then removed. STABLE is the share of the time with members and without a rebalance. UNFINISHED names a "
    "state that lasts until the journal's end; it is in no sum.\n"
    "The closing line counts the journals' lines, the partitions in which they were read, and their bytes.",
    example="rebalances broker.jsonl --report rebalances.html --output rebalances.parquet",
    add_options=add_options,
    check=check,
    run=run,
    needs_connector=False,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

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

from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import local_path, refuse_unless_free, size_bytes, uri, write_text
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork
from ottla.rebalances.conclusion import conclusion
from ottla.rebalances.found import TOP_DEFAULT, Found, tables
from ottla.rebalances.journals import no_journal
from ottla.terminal.output import print_line, print_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class RebalancesPlan:
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


def check(options: argparse.Namespace) -> RebalancesPlan:
    if options.top < 0:
        raise CannotUse(f"--top {options.top} is below 0; it is how many groups to show")
    for journal in options.journals:
        _refuse_unless_there(journal)
    for option, place in (("--output", options.output), ("--report", options.report)):
        if place is not None:
            refuse_unless_free(place, option)
    journals = list(dict.fromkeys(uri(journal) for journal in options.journals))  # one named twice is read once
    return RebalancesPlan(journals, options.group, options.top, options.output, options.report)


def _refuse_unless_there(journal: str) -> None:
    path = local_path(journal)
    if path is None:
        return
    found = glob.glob(str(path)) if glob.has_magic(str(path)) else [str(path)] * path.exists()
    if not found:
        raise CannotWork(f"there is no journal {journal}; `ottla serve --journal FILE` writes one")
    if path.name.startswith(("_", ".")):
        raise CannotWork(f"Spark ignores files whose names begin with _ or a dot, such as {journal}; rename it")


def run(spark: SparkSession, plan: RebalancesPlan, progress: Progress) -> JobOutcome:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.storagelevel import StorageLevel

    from ottla.pipeline.transforms import journal
    from ottla.rebalances.page import report

    for option, place in (("--output", plan.output), ("--report", plan.report)):
        if place is not None:
            refuse_unless_free(place, option, spark)
    progress.step(f"reading {', '.join(plan.journals)}")
    seen = Observation()
    texts = journal.texts(spark, plan.journals)
    lines = journal.read(texts).observe(
        seen, F.count("*").alias("lines"), F.count_if(F.col("group").isNull()).alias("passed_over")
    )
    lines = lines.where(F.col("group").isin(plan.groups) if plan.groups else F.col("group").isNotNull())
    analysed = journal.analyse(lines, plan.top, with_tables=plan.output is not None)
    if plan.output is not None:  # on disk: all rebalances and states may be more than the memory holds
        analysed = analysed.persist(StorageLevel.DISK_ONLY)
    analysis = journal.merged(analysed, plan.top)
    read = seen.get
    if read["lines"] and read["lines"] == read["passed_over"]:
        raise CannotWork(no_journal(", ".join(plan.journals), read["lines"]))
    if plan.output is not None:
        for name in journal.TABLES:
            progress.step(f"writing {name}")
            journal.table(analysed, name).write.parquet(f"{uri(plan.output)}/{name}")
    found = analysis.found([place.rstrip("/").rpartition("/")[2] for place in plan.journals], **read)
    if plan.report is not None:
        progress.step("drawing")
        write_text(spark, plan.report, report(found))
    if found.passed_over:
        progress.step(f"{found.passed_over} lines were passed over: no JSON, or not of a journal's version 1")
    size = sum(size_bytes(spark, unquote(file)) for file in texts.inputFiles())
    names = ("passed_over", "group_count", "rebalance_count", "lost_lines", "from_ms", "until_ms")
    told = {name: getattr(found, name) for name in (*names, "groups", "causes", "members")}
    return JobOutcome(found.lines, texts.rdd.getNumPartitions(), size, told, show=lambda: _show(found, plan.top))


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

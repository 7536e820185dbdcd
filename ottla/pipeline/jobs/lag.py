"""`ottla pipeline lag`: how far every consumer group is behind, from the group log.

`__consumer_offsets` has every commit with its time, so no coordinator is asked for ten thousand groups. The topic is
read up to its end when the job began. The ends of the logs are asked for after that, so no commit is beyond an end.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline import cluster
from ottla.pipeline.cluster import OFFSETS_TOPIC, KafkaCluster, Partition, Span
from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import refuse_unless_free, uri
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse
from ottla.terminal.output import Columns, Item, print_line, print_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOP_DEFAULT: Final = 20


@dataclass(frozen=True, slots=True)
class LagPlan:
    cluster: KafkaCluster
    offsets_log: dict[Partition, Span]
    logs: dict[Partition, Span]
    groups: list[str]
    """Empty: all."""
    top: int
    output: str | None


def add_options(parser: argparse.ArgumentParser) -> None:
    cluster.add_options(parser)
    parser.add_argument(
        "--group", metavar="GROUP", action="append", default=[], help="only this group (default: all); may be repeated"
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=TOP_DEFAULT,
        help=f"show the N partitions with the largest lag (default: {TOP_DEFAULT})",
    )
    parser.add_argument("--output", metavar="URI", help="a new folder for all rows, as Parquet")


def check(options: argparse.Namespace) -> LagPlan:
    if options.top < 0:
        raise CannotUse(f"--top {options.top} is below 0; it is how many partitions to show")
    if options.output is not None:
        refuse_unless_free(options.output, "--output")
    kafka = cluster.find(options)
    #: A fresh broker has none before the first group comes.
    offsets_log = kafka.spans(kafka.partitions([OFFSETS_TOPIC]) if OFFSETS_TOPIC in kafka.topics else [])
    led = [partition for partition in kafka.partitions(kafka.topics) if partition not in kafka.leaderless]
    logs = kafka.spans(led, read_committed=False)
    return LagPlan(kafka, offsets_log, logs, options.group, options.top, options.output and uri(options.output))


def run(spark: SparkSession, plan: LagPlan, progress: Progress) -> JobOutcome:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.lag import lag
    from ottla.pipeline.transforms.offset_commits import newest_commits, offset_commits
    from ottla.pipeline.transforms.records import key_and_value_bytes

    if plan.output is not None:
        refuse_unless_free(plan.output, "--output", spark)
    pieces = [span for span in plan.offsets_log.values() if span.offsets]
    progress.step(f"reading {len(pieces)} partitions of {OFFSETS_TOPIC}")
    seen, commits_seen = Observation(), Observation()
    records = cluster.read(spark, plan.cluster.address, plan.offsets_log).observe(
        seen, F.count("*").alias("records"), F.sum(key_and_value_bytes()).alias("bytes")
    )
    commits = offset_commits(records).observe(commits_seen, F.count_if(~F.col("is_readable")).alias("unreadable"))
    if plan.groups:
        commits = commits.where(F.col("group").isin(plan.groups))
    lags = lag(newest_commits(commits), _logs(records.sparkSession, plan)).persist()
    if plan.output is not None:
        lags.write.parquet(plan.output)
    total = lags.agg(
        F.count("*").alias("rows"),
        F.count("committed_offset").alias("offsets"),
        F.count_distinct("group").alias("groups"),
        F.sum("lag").alias("lag"),
    ).head()
    assert total is not None, "an aggregate has a row"
    furthest = lags.orderBy(F.desc_nulls_last("lag"), "group", "topic", "partition").limit(plan.top)
    shown = furthest.withColumn("committed_at_ms", F.unix_millis("committed_at")).drop("committed_at")
    items = [_item(row.asDict()) for row in shown.collect()]
    if plan.groups and (
        unseen := set(plan.groups) - {row["group"] for row in lags.select("group").distinct().collect()}
    ):
        progress.step(f"no commit of {', '.join(sorted(unseen))} was found; `ottla groups` lists the groups there are")
    unreadable = commits_seen.get["unreadable"]
    if unreadable:
        progress.step(f"{unreadable} records can't be read: they are of no version that Kafka 4.4 knows")
    found = {
        "cluster_id": plan.cluster.cluster_id,
        "groups": total["groups"],
        "committed_offsets": total["offsets"],
        "lag": total["lag"] or 0,
        "unreadable": unreadable,
        "offsets": items,
    }
    return JobOutcome(
        seen.get["records"], len(pieces), seen.get["bytes"] or 0, found, show=lambda: _show(items, total["rows"])
    )


def _logs(spark: SparkSession, plan: LagPlan) -> DataFrame:
    rows = [(topic, partition, span.start, span.end) for (topic, partition), span in plan.logs.items()]
    return spark.createDataFrame(rows, "topic string, partition int, log_start_offset bigint, log_end_offset bigint")


def _item(row: Item) -> Item:
    """A row by the names that `ottla groups describe --json` has for it."""
    return {"group_id": row.pop("group"), **row}


def _committed_at(item: Item) -> str | None:
    if item["committed_at_ms"] is None:
        return None
    at = datetime.fromtimestamp(item["committed_at_ms"] / 1000, UTC)
    return at.replace(tzinfo=None).isoformat(" ", "milliseconds")


_COLUMNS: Final[Columns] = {
    "GROUP": "group_id",
    "TOPIC": "topic",
    "PARTITION": "partition",
    "COMMITTED": "committed_offset",
    "END": "log_end_offset",
    "LAG": "lag",
    "COMMITTED AT (UTC)": _committed_at,
}


def _show(items: list[Item], all_rows: int) -> None:
    if items:
        print_table(items, _COLUMNS)
    if len(items) < all_rows:
        print_line(f"({all_rows - len(items):,} more; --top shows more of them, --output writes them all)")
    if items or all_rows:
        print_line()


JOB: Final[Job[Any]] = Job(
    name="lag",
    summary="the lag of all consumer groups, from __consumer_offsets",
    description="Show the lag of every consumer group in every partition of the topics it has committed, and "
    "the time of the commit. Where nothing is committed, COMMITTED is '-' and LAG counts from the log start. "
    "For a deleted topic, END and LAG are '-'.\nThe closing line counts what was read from __consumer_offsets: "
    "records, partitions, bytes of keys and values.",
    example="lag --bootstrap-server 127.0.0.1:9092 --top 10 --output lag.parquet",
    add_options=add_options,
    check=check,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

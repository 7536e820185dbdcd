"""`ottla pipeline export`: topics to Parquet, each record once, whatever happens in between.

The job is a Spark stream: Spark records the offsets of a batch before it reads them, and the target lists the files of
a batch in one step. After a kill, the next run repeats the last batch and goes on. Files of an unfinished batch stay
behind. Readers that don't use Spark's list would count them, so a run that continues another one deletes them.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline import cluster
from ottla.pipeline.checkpoint import CheckpointOwner, owner_now, read_owner, refuse_another, write_owner
from ottla.pipeline.cluster import KafkaCluster, topic_stream
from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import refuse_unless_free, remove_strays, uri
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCH_RECORDS_DEFAULT: Final = 2_000_000
EVERY_SECONDS_DEFAULT: Final = 10.0
#: Spark's readers skip names that begin with an underscore.
CHECKPOINT_NAME: Final = "_checkpoint"
_LOOK_SECONDS: Final = 0.25
#: The name under which each batch's records are counted.
_SEEN: Final = "export"
#: The connector's error for records that retention has deleted.
_RECORDS_LOST: Final = "Some data may have been lost"
#: The type of timestamps that all readers know, instead of Spark's older default.
_PARQUET_TIMES: Final = ("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")


@dataclass(frozen=True, slots=True)
class ExportPlan:
    cluster: KafkaCluster
    topics: list[str]
    partitions: int
    output: str
    checkpoint: str
    owner: CheckpointOwner
    is_following: bool
    every_seconds: float
    batch_records: int
    may_miss_records: bool


@dataclass(slots=True)
class Totals:
    """What the batches of this run have brought."""

    batches: int = 0
    rows: int = 0
    bytes: int = 0
    last_batch: int = -1


def add_options(parser: argparse.ArgumentParser) -> None:
    cluster.add_options(parser)
    parser.add_argument("--topic", metavar="TOPIC", action="append", required=True, help="may be repeated")
    parser.add_argument("--output", metavar="URI", required=True, help="the folder to write to, or to continue")
    parser.add_argument(
        "--checkpoint",
        metavar="URI",
        help=f"a folder for the export's position, on a shared file system (default: {CHECKPOINT_NAME} in --output)",
    )
    parser.add_argument("--follow", action="store_true", help="continue with new records, until Ctrl-C")
    parser.add_argument(
        "--every",
        metavar="SECONDS",
        type=float,
        default=EVERY_SECONDS_DEFAULT,
        help="with --follow: the time between two batches, and so between new files "
        f"(default: {EVERY_SECONDS_DEFAULT:.0f}; 0: no pause)",
    )
    parser.add_argument(
        "--batch-records",
        metavar="N",
        type=int,
        default=BATCH_RECORDS_DEFAULT,
        help=f"the largest batch; after a crash the last batch is repeated (default: {BATCH_RECORDS_DEFAULT})",
    )
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="continue if retention has deleted records before they were exported (default: stop)",
    )


def check(options: argparse.Namespace) -> ExportPlan:
    if options.batch_records < 1:
        raise CannotUse(f"--batch-records {options.batch_records} is below 1; it is how many records are read at once")
    if not 0 <= options.every < math.inf:
        raise CannotUse(f"--every {options.every:g} is not a number from 0 on; it is in seconds")
    topics = sorted(set(options.topic))
    output = uri(options.output).rstrip("/")
    checkpoint = uri(options.checkpoint).rstrip("/") if options.checkpoint else f"{output}/{CHECKPOINT_NAME}"
    kafka = cluster.find(options)
    partitions = kafka.partitions(topics)
    kafka.spans(partitions)
    plan = ExportPlan(
        kafka,
        topics,
        len(partitions),
        output,
        checkpoint,
        owner_now(kafka, topics, output),
        options.follow,
        options.every,
        options.batch_records,
        options.allow_missing,
    )
    _refuse_mixture(plan)
    return plan


def run(spark: SparkSession, plan: ExportPlan, progress: Progress) -> JobOutcome:
    began_ms = time.time_ns() // 1_000_000
    is_resumed = _refuse_mixture(plan, spark)
    own = spark.newSession()
    own.conf.set(*_PARQUET_TIMES)
    if not is_resumed:
        write_owner(own, plan.checkpoint, plan.owner)
    how = "going on with" if is_resumed else "exporting"
    progress.step(f"{how} {plan.partitions} partitions of {', '.join(plan.topics)}")
    query = _start(own, plan)
    totals = Totals()
    try:
        with _asked_to_end() as is_asked:
            _watch(query, totals, progress, is_asked)
    finally:
        query.stop()
    if is_asked.is_set() and not plan.is_following:
        raise KeyboardInterrupt
    _count(query, totals, progress)
    strays = _remove_strays(own, plan, began_ms) if is_resumed else 0
    found = {
        "cluster_id": plan.cluster.cluster_id,
        "topics": plan.topics,
        "output": plan.output,
        "checkpoint": plan.checkpoint,
        "is_resumed": is_resumed,
        "batches": totals.batches,
        "stray_files_removed": strays,
    }
    return JobOutcome(totals.rows, plan.partitions, totals.bytes, found)


def _refuse_mixture(plan: ExportPlan, spark: SparkSession | None = None) -> bool:
    """Raise unless target and checkpoint belong together and are of these topics; returns whether there are any."""
    found = read_owner(plan.checkpoint, spark)
    if found is not None:
        refuse_another(plan.checkpoint, found, plan.owner)
        return True
    refuse_unless_free(plan.output, "--output", spark)
    refuse_unless_free(plan.checkpoint, "--checkpoint", spark)
    return False


def _start(spark: SparkSession, plan: ExportPlan) -> StreamingQuery:
    from ottla.pipeline.transforms.records import LAYOUT, kept

    when: dict[str, Any] = {"availableNow": True}
    if plan.is_following:
        when = {"processingTime": f"{plan.every_seconds} seconds"}
    records = topic_stream(
        spark,
        plan.cluster.address,
        plan.cluster.partitions(plan.topics),
        batch_records=plan.batch_records,
        may_miss_records=plan.may_miss_records,
    )
    return (
        kept(_observed(records))
        .writeStream.format("parquet")
        .partitionBy(*LAYOUT)
        .option("checkpointLocation", plan.checkpoint)
        .trigger(**when)
        .start(plan.output)
    )


def _observed(records: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.records import key_and_value_bytes

    return records.observe(_SEEN, F.count("*").alias("rows"), F.sum(key_and_value_bytes()).alias("bytes"))


@contextmanager
def _asked_to_end() -> Iterator[Event]:
    """Ctrl-C and SIGTERM set the event: PySpark's own answer to Ctrl-C would be a call amid the one under way."""
    is_asked = Event()
    before = {number: signal.signal(number, lambda *_: is_asked.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield is_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(query: StreamingQuery, totals: Totals, progress: Progress, is_asked: Event) -> None:
    """Until it ends, or is asked to, say what comes of each batch. Raises `CannotWork` where records are gone."""
    from pyspark.errors import StreamingQueryException

    try:
        while not query.awaitTermination(_LOOK_SECONDS) and not is_asked.is_set():  # type: ignore[arg-type]
            _count(query, totals, progress)
    except StreamingQueryException as error:
        if _RECORDS_LOST not in str(error):
            raise
        raise CannotWork(
            "records were deleted before they were exported, by retention or by hand; "
            "--allow-missing goes on with those that are there"
        ) from error


def _count(query: StreamingQuery, totals: Totals, progress: Progress) -> None:
    """Take in batches that ended since the last time. Spark keeps the last hundred."""
    for batch in query.recentProgress:
        seen = batch.observedMetrics.get(_SEEN)
        if batch.batchId > totals.last_batch and seen is not None and seen["rows"]:
            totals.last_batch = batch.batchId
            totals.batches += 1
            totals.rows += seen["rows"]
            totals.bytes += seen["bytes"]
            seconds = batch.batchDuration / 1000
            progress.step(f"batch {batch.batchId}: {seen['rows']:,} records in {seconds:.1f} s, {totals.rows:,} so far")


def _remove_strays(spark: SparkSession, plan: ExportPlan, began_ms: int) -> int:
    """Delete what killed runs have left: Parquet that is in no batch, and no younger than this run."""
    #: With a schema, for where nothing was ever exported there is none to be found.
    listed = spark.read.schema("offset bigint").parquet(plan.output).inputFiles()
    names = {path.rpartition("/")[2] for path in listed}
    return remove_strays(spark, plan.output, names, ".parquet", began_ms)


JOB: Final[Job[Any]] = Job(
    name="export",
    summary="write topics to Parquet, each record once; can be continued at any time",
    description="Write topics to Parquet, in folders by topic and day (UTC), with the columns partition, offset, "
    "timestamp, timestampType, key, value, headers. A further run with the same --output continues where the last one "
    "ended. If a run is killed, no record is lost or doubled. Only committed transactions are read.\n"
    "The closing line counts read records, partitions, and bytes of keys and values.",
    example="export --bootstrap-server 127.0.0.1:9092 --topic orders --topic payments --output exported --follow",
    add_options=add_options,
    check=check,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

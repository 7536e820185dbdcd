"""`ottla pipeline seed`: files to a topic.

Records that `export` or `capture` wrote go to the partition they were in. One task sends a partition, so the order is
kept, and a partition always has the first records of the input: after a failure, `--resume` skips as many as it has.
Rows of other files have no partition: the key decides, as with any producer, and one task sends them in order.

The end of the topic shows how far the job has come, while it runs and when it fails.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline import cluster, targets
from ottla.pipeline.cluster import KafkaCluster
from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import refuse_if_absent, uri
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork, Refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS: Final = ("parquet", "json", "csv")
_SUFFIXES: Final = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
#: Spark unpacks what ends so.
_PACKED: Final = (".gz", ".bz2", ".zst", ".deflate", ".snappy", ".lz4")
TIMESTAMP_DEFAULT: Final = "timestamp"
_TELL_SECONDS: Final = 5.0
#: A task's error about a record, within Spark's error.
_OURS: Final = re.compile(r"((?:cannot send|not a time): .*?)(?: SQLSTATE.*)?$", re.MULTILINE)
#: Spark's error for a folder without Parquet, such as an export of an empty topic.
_NO_FILES: Final = "Unable to infer schema"
#: Topics that this job creates have no retention, which would delete records with old times.
_NEW_TOPIC: Final = {"retention.ms": "-1"}


@dataclass(frozen=True, slots=True)
class SeedPlan:
    cluster: KafkaCluster
    input: str
    format: str
    topic: str
    partitions: int
    from_topic: str | None
    key: str | None
    value: str | None
    timestamp: str | None
    is_resuming: bool
    there: dict[int, int]
    """How many records each partition has."""


def add_options(parser: argparse.ArgumentParser) -> None:
    cluster.add_options(parser)
    parser.add_argument("--input", metavar="URI", required=True, help="a file, or a folder of them")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="json: one object a line; csv: with a header (default: by the name of the file, or parquet)",
    )
    parser.add_argument("--topic", metavar="TOPIC", required=True, help="the topic to write to")
    parser.add_argument("--create", metavar="PARTITIONS", type=int, help="create the topic if it is missing")
    parser.add_argument("--from-topic", metavar="TOPIC", help="only this topic of an export (default: its only topic)")
    parser.add_argument("--key", metavar="FIELD", help="for rows: the field that becomes the key (default: no key)")
    parser.add_argument(
        "--value", metavar="FIELD", help="for rows: the field that becomes the value (default: the row, as JSON)"
    )
    parser.add_argument(
        "--timestamps",
        metavar="FIELD",
        nargs="?",
        const=TIMESTAMP_DEFAULT,
        help="keep original times; for rows, from this field: milliseconds, or a date and time "
        f"(default: the time of the write; FIELD: {TIMESTAMP_DEFAULT})",
    )
    there = parser.add_mutually_exclusive_group()
    there.add_argument(
        "--append", action="store_true", help="add to existing records (default: the topic must be empty)"
    )
    there.add_argument(
        "--resume",
        action="store_true",
        help="continue a seed of the same input that ended early; no other client may have written to the topic",
    )


def check(options: argparse.Namespace) -> SeedPlan:
    if options.create is not None and options.create < 1:
        raise CannotUse(f"--create {options.create} is below 1; it is how many partitions the topic gets")
    source = uri(options.input)
    refuse_if_absent(source, "--input")
    kafka = cluster.find(options)
    if options.topic not in kafka.topics and options.create is not None:
        targets.make(kafka, options.topic, options.create, _NEW_TOPIC)
    there = _records_there(kafka, options.topic)
    if any(there.values()) and not options.append and not options.resume:
        raise CannotWork(
            f"{options.topic} is not empty, it has {sum(there.values()):,} offsets; --append adds to them, "
            "--resume goes on with a seed that ended early"
        )
    return SeedPlan(
        kafka,
        source,
        options.format or format_of(source),
        options.topic,
        len(there),
        options.from_topic,
        options.key,
        options.value,
        options.timestamps,
        options.resume,
        there,
    )


def format_of(source: str) -> str:
    """What its name says."""
    path = PurePosixPath(source)
    return _SUFFIXES.get(path.with_suffix("").suffix if path.suffix in _PACKED else path.suffix, FORMATS[0])


def run(spark: SparkSession, plan: SeedPlan, progress: Progress) -> JobOutcome:
    from pyspark.errors import PySparkException

    from ottla.pipeline.sender import sent
    from ottla.pipeline.transforms.records import in_order

    refuse_if_absent(plan.input, "--input", spark)
    records, total = _records(spark, plan)
    progress.step(f"sending {'' if total is None else f'{total:,} records '}to {plan.topic}")
    try:
        with _telling(plan, progress, total):
            #: A line for each task.
            lines = sent(in_order(records, plan.partitions), plan.cluster.address, plan.topic).collect()
    except PySparkException as error:
        if reason := _OURS.search(str(error)):
            raise CannotWork(f"{reason[1]}; what was sent before is in {plan.topic}") from error
        raise
    rows, size = (sum(line[name] for line in lines) for name in ("rows", "bytes"))
    found = {
        "cluster_id": plan.cluster.cluster_id,
        "topic": plan.topic,
        "input": plan.input,
        "rows_there_before": sum(plan.there.values()),
    }
    return JobOutcome(rows, plan.partitions, size, found)


def _records_there(kafka: KafkaCluster, topic: str) -> dict[int, int]:
    spans = kafka.spans(kafka.partitions([topic]), read_committed=False)
    return {partition: span.offsets for (_, partition), span in spans.items()}


def _records(spark: SparkSession, plan: SeedPlan) -> tuple[DataFrame, int | None]:
    """What is to be sent, and how many records that is, if it costs nothing to know."""
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.records import (
        are_kept,
        kept_to_send,
        lines_to_send,
        rows_to_send,
        without_first,
    )

    fields = {"key": plan.key, "value": plan.value, "timestamp": plan.timestamp}
    frame = _read(spark, plan)
    if not are_kept(frame):
        if plan.is_resuming or plan.from_topic is not None:
            option = "--resume" if plan.is_resuming else "--from-topic"
            raise CannotUse(f"{option} needs records as `export` writes them, and {plan.input} has other rows")
        if plan.format == "json":
            _refuse_missing_in_lines(frame, fields)
            return lines_to_send(frame, **fields), None
        _refuse_missing(frame, fields)
        return rows_to_send(frame, **fields), None
    if plan.key or plan.value:
        raise CannotUse(f"--key and --value are for rows of other files; {plan.input} has keys and values of its own")
    frame = _one_topic(frame, plan)
    size = frame.agg(F.count("*").alias("rows"), F.max("partition").alias("partition_max")).head()
    assert size is not None, "an aggregate has a row"
    partitions = (size["partition_max"] or 0) + 1
    if partitions > plan.partitions:
        raise CannotWork(
            f"the input has {partitions} partitions and {plan.topic} only {plan.partitions}; make it with as many"
        )
    records = kept_to_send(frame, with_timestamps=plan.timestamp is not None)
    if not plan.is_resuming:
        return records, size["rows"]
    return without_first(records, plan.there), size["rows"] - sum(plan.there.values())


def _read(spark: SparkSession, plan: SeedPlan) -> DataFrame:
    """The input; rows of anything but an export have their place in `_row`."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.records import LINE, ROW, are_kept

    own = spark.newSession()
    #: A topic may be called 0815.
    own.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    if plan.format == "json":
        frame = own.read.text(plan.input).withColumnRenamed("value", LINE)
    elif plan.format == "csv":
        #: As most programs write it: a quote within quotes is there twice, and a line may break there.
        frame = own.read.csv(plan.input, header=True, escape='"', multiLine=True)
    else:
        try:
            frame = own.read.parquet(plan.input)
        except AnalysisException as error:
            if _NO_FILES not in str(error):
                raise
            return cluster.read(own, plan.cluster.address, {}, with_headers=True).drop("topic")
        if are_kept(frame):
            return frame
    return frame.withColumn(
        ROW,
        F.struct("_metadata.file_path", "_metadata.file_block_start", F.monotonically_increasing_id().alias("row")),
    )


def _refuse_missing(frame: DataFrame, fields: dict[str, str | None]) -> None:
    for name in fields.values():
        if name is not None and name not in frame.columns:
            raise CannotUse(f"the input has no field {name}; it has {', '.join(frame.columns[:-1])}")


def _refuse_missing_in_lines(lines: DataFrame, fields: dict[str, str | None]) -> None:
    """As for rows: a value that is misspelt would make a tombstone of each line. One line that has it is enough."""
    from ottla.pipeline.transforms.records import lines_with

    for name in fields.values():
        if name is not None and lines_with(lines, name).isEmpty() and not lines.isEmpty():
            raise CannotUse(f"no line of the input has anything in {name}; name a field that is there")


def _one_topic(frame: DataFrame, plan: SeedPlan) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    if "topic" not in frame.columns:
        return frame
    topics = sorted(row["topic"] for row in frame.select("topic").distinct().limit(100).collect())
    if plan.from_topic is None and len(topics) <= 1:
        return frame
    if plan.from_topic not in topics:
        asked = "several topics" if plan.from_topic is None else f"no topic {plan.from_topic}"
        raise CannotUse(f"the input has {asked}; name one with --from-topic: {', '.join(topics)}")
    return frame.where(F.col("topic") == F.lit(plan.from_topic))


@contextmanager
def _telling(plan: SeedPlan, progress: Progress, total: int | None) -> Iterator[None]:
    """Say now and then how far it is, and, when it fails, how far it got."""
    of_total = "" if total is None else f" of {total:,}"
    before = sum(plan.there.values())

    def sent_so_far() -> int:
        return sum(_records_there(plan.cluster, plan.topic).values()) - before

    def tell() -> None:
        while not is_over.wait(_TELL_SECONDS):
            progress.step(f"{sent_so_far():,}{of_total} records are in {plan.topic}")

    is_over = Event()
    thread = Thread(target=tell, name="ottla pipeline seed", daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        try:
            progress.step(f"stopped; {sent_so_far():,}{of_total} records are in {plan.topic}")
        except Refusal as refusal:
            progress.step(f"stopped; how far it got can't be said: {refusal}")
        raise
    finally:
        is_over.set()
        thread.join()


JOB: Final[Job[Any]] = Job(
    name="seed",
    summary="write Parquet, JSON lines or CSV into a topic",
    description="Write files into a topic. Files of `export` and `capture` keep their partitions, order, keys, values "
    "and headers, and with --timestamps their times. Rows of other files are sent in the order of their lines, to the "
    "partition of their key.\n"
    "The closing line counts sent records, the topic's partitions, and bytes of keys and values.",
    example="seed --input exported --from-topic orders --topic orders --create 4 --timestamps",
    add_options=add_options,
    check=check,
    run=run,
    needs_connector=False,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

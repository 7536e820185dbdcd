"""`ottla pipeline capture`: a piece of a topic as a small file, fit for tests.

The job is safe to run against production: it reads a bounded piece, joins no group, commits nothing. Fields that
--redact-field names never reach a file, and a function of the user may change the rest. A field that was in no record
is reported, because its name may be misspelt.

The file is what `export` writes, in order, in one piece: `seed` makes a topic of it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.pipeline import cluster
from ottla.pipeline.cluster import KafkaCluster, Partition, Span
from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.places import refuse_unless_free, size_bytes, uri
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The user's function: from records as they are kept, to records of the same columns.
Redact: TypeAlias = "Callable[[DataFrame], DataFrame]"

SAMPLE_BY: Final = ("record", "key")
_SALT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class CapturePlan:
    cluster: KafkaCluster
    spans: dict[Partition, Span]
    since: datetime | None
    until: datetime | None
    sample: float
    is_sampled_by_key: bool
    limit: int | None
    fields: list[str]
    salt: str
    redact: Redact | None
    output: str


def add_options(parser: argparse.ArgumentParser) -> None:
    cluster.add_options(parser)
    parser.add_argument("--topic", metavar="TOPIC", action="append", required=True, help="may be repeated")
    parser.add_argument("--output", metavar="URI", required=True, help="a new folder")
    since = parser.add_mutually_exclusive_group()
    since.add_argument(
        "--from", dest="since", metavar="TIME", help="start at this time: 2026-03-01T09:00, UTC unless it has a zone"
    )
    since.add_argument("--from-offset", metavar="N", type=int, help="start at this offset (default: the first one)")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--to", dest="until", metavar="TIME", help="end before this time")
    until.add_argument("--to-offset", metavar="N", type=int, help="end before this offset (default: the present end)")
    until.add_argument("--last", metavar="N", type=int, help="the last N offsets of each partition")
    parser.add_argument("--limit", metavar="N", type=int, help="at most the first N records of each partition")
    parser.add_argument(
        "--sample",
        metavar="FRACTION",
        type=float,
        default=1.0,
        help="the fraction of records to take, 0 to 1 (default: 1)",
    )
    parser.add_argument(
        "--sample-by",
        choices=SAMPLE_BY,
        default=SAMPLE_BY[0],
        help=f"key: all records of a key or none (default: {SAMPLE_BY[0]})",
    )
    parser.add_argument(
        "--redact-field",
        metavar="PATH",
        action="append",
        default=[],
        help="replace this text: key, value, headers, headers.NAME, or a field of JSON such as "
        "value.customer.name; may be repeated",
    )
    parser.add_argument(
        "--salt",
        metavar="TEXT",
        help="captures with the same secret salt replace equal values by equal ones (default: a new salt)",
    )
    parser.add_argument(
        "--redact",
        metavar="MODULE:FUNCTION",
        help="your own function, from a DataFrame to one with the same columns; it runs last",
    )


def check(options: argparse.Namespace) -> CapturePlan:
    _refuse_numbers(options)
    fields = list(dict.fromkeys(options.redact_field))
    _refuse_fields(fields)
    since, until = _time(options.since, "--from"), _time(options.until, "--to")
    if since is not None and until is not None and since >= until:
        raise CannotUse(f"--from {options.since} is not before --to {options.until}")
    redact = _load(options.redact) if options.redact is not None else None
    refuse_unless_free(options.output, "--output")
    kafka = cluster.find(options)
    spans = kafka.spans(kafka.partitions(sorted(set(options.topic))))
    return CapturePlan(
        kafka,
        _narrowed(kafka, spans, options, since, until),
        since,
        until,
        options.sample,
        options.sample_by == "key",
        options.limit,
        fields,
        options.salt or secrets.token_hex(_SALT_BYTES),
        redact,
        uri(options.output),
    )


def run(spark: SparkSession, plan: CapturePlan, progress: Progress) -> JobOutcome:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.records import KEPT
    from ottla.pipeline.transforms.redaction import MET, met_counts, parse_path, redacted

    refuse_unless_free(plan.output, "--output", spark)
    offsets = sum(span.offsets for span in plan.spans.values())
    progress.step(f"reading {offsets:,} offsets of {len(plan.spans)} partitions")
    records = _chosen(spark, plan)
    met, written = Observation(), Observation()
    paths = [parse_path(field) for field in plan.fields]
    counts = [F.count("*").alias("rows")] + [
        count.alias(field) for field, count in zip(plan.fields, met_counts(paths), strict=True)
    ]
    records = redacted(records, paths, plan.salt).observe(met, *counts).drop(MET).select("topic", *KEPT)
    if plan.redact is not None:
        records = _same_columns(plan.redact(records), records)
    (
        records.repartition(1)
        .sortWithinPartitions("topic", "partition", "offset")
        .observe(written, F.count("*").alias("rows"))
        .write.parquet(plan.output)
    )
    counted = met.get
    redacted_in = {field: counted[field] for field in plan.fields}
    for field, count in redacted_in.items():
        if counted["rows"] and not count:
            progress.step(f"{field} was in none of the {counted['rows']:,} records: is it spelt so?")
    found = {
        "cluster_id": plan.cluster.cluster_id,
        "topics": sorted({topic for topic, _ in plan.spans}),
        "output": plan.output,
        "offsets_read": offsets,
        "redacted": redacted_in,
    }
    partitions = sum(span.offsets > 0 for span in plan.spans.values())
    return JobOutcome(written.get["rows"], partitions, size_bytes(spark, plan.output), found)


def _refuse_numbers(options: argparse.Namespace) -> None:
    if not 0 < options.sample <= 1:
        raise CannotUse(f"--sample {options.sample:g} is not above 0 and up to 1; it is a part of all")
    for option, least in (("from_offset", 0), ("to_offset", 0), ("last", 1), ("limit", 1)):
        number = getattr(options, option)
        if number is not None and number < least:
            raise CannotUse(f"--{option.replace('_', '-')} {number} is below {least}")
    if options.to_offset is not None and (options.from_offset or 0) >= options.to_offset:
        raise CannotUse(f"--from-offset {options.from_offset or 0} is not below --to-offset {options.to_offset}")


def _refuse_fields(fields: list[str]) -> None:
    from ottla.pipeline.transforms.redaction import PATHS_MAX, parse_path

    if len(fields) > PATHS_MAX:
        raise CannotUse(f"--redact-field was given {len(fields)} times; {PATHS_MAX} is the most")
    for field in fields:
        try:
            parse_path(field)
        except ValueError:
            raise CannotUse(
                f"--redact-field {field} is not key, value, headers, or one of those with fields: value.customer.name"
            ) from None


def _time(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise CannotUse(f"{option} {text} is not a time such as 2026-03-01T09:00, or 2026-03-01T09:00+01:00") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _load(text: str) -> Redact:
    """The user's function; modules are looked for in the working directory too."""
    module, _, name = text.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        function: Redact = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise CannotUse(f"--redact {text} is not MODULE:FUNCTION that can be imported here: {error}") from None
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise CannotUse(f"--redact {text} is no function; name one that takes a DataFrame and returns one")
    return function


def _narrowed(
    kafka: KafkaCluster,
    spans: dict[Partition, Span],
    options: argparse.Namespace,
    since: datetime | None,
    until: datetime | None,
) -> dict[Partition, Span]:
    """The pieces asked for, within the logs as they are."""
    starts = kafka.offsets_at(spans, since) if since else {}
    ends = kafka.offsets_at(spans, until) if until else {}
    narrowed = {}
    for partition, span in spans.items():
        start = starts.get(partition, options.from_offset or 0)
        end = ends.get(partition, span.end if options.to_offset is None else options.to_offset)
        if options.last is not None:
            start = max(start, span.end - options.last)
        narrowed[partition] = Span(max(start, span.start), max(min(end, span.end), span.start))
    return narrowed


def _chosen(spark: SparkSession, plan: CapturePlan) -> DataFrame:
    """The records asked for."""
    from ottla.pipeline.transforms.sampling import first_of_each_partition, sampled, within

    records = cluster.read(spark, plan.cluster.address, plan.spans, with_headers=True)
    records = within(records, plan.since, plan.until)
    if plan.sample < 1:
        records = sampled(records, plan.sample, by_key=plan.is_sampled_by_key)
    return records if plan.limit is None else first_of_each_partition(records, plan.limit)


def _same_columns(made: DataFrame, given: DataFrame) -> DataFrame:
    if sorted(made.dtypes) != sorted(given.dtypes):
        raise CannotUse(f"--redact gave other columns than it got: {made.dtypes} for {given.dtypes}")
    return made


JOB: Final[Job[Any]] = Job(
    name="capture",
    summary="save a piece of a topic as a small Parquet file for tests, with private fields replaced",
    description="Write a time or offset range of topics, or a sample of it, as one Parquet file. `seed` writes such a "
    "file into a topic. Private fields can be replaced; equal values stay equal. The job reads committed records. It "
    "joins no group and commits nothing.\n"
    "The closing line counts written records, read partitions, and bytes of files.",
    example="capture --bootstrap-server kafka.example:9092 --topic orders --from 2026-03-01T09:00 --limit 1000 "
    "--sample 0.01 --sample-by key --redact-field value.customer.name --output orders.parquet",
    add_options=add_options,
    check=check,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

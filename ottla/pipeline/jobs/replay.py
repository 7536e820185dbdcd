"""`ottla pipeline replay`: a recorded topic to another cluster, as fast as it once came, or faster.

Spark sorts the records by the time when they are due (transforms/pace.py). One task then sends them all, by one clock:
several tasks would need a core each at the same time, which Spark does not promise. Records get the time of the replay,
unless `--timestamps` keeps theirs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline import cluster, targets
from ottla.pipeline.cluster import KafkaCluster, Partition, Span, read
from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.pacing import LEAD_SECONDS, ReplayPace
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork
from ottla.pipeline.sender import Batches, send
from ottla.terminal.output import print_line

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

SPEED_DEFAULT: Final = 1.0
LATE_MS_MAX: Final = 50.0
_LINGER_MS: Final = 1
_PLAYED_SCHEMA: Final = "rows bigint, bytes bigint, late_ms_max double"


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    source: KafkaCluster
    target: KafkaCluster
    topic: str
    to_topic: str
    spans: dict[Partition, Span]
    speed: float
    with_timestamps: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    cluster.add_options(parser, "--source", "the cluster where the recording is")
    parser.add_argument("--target", metavar="HOST:PORT", required=True, help="any broker of the cluster to send to")
    cluster.add_command_config(parser, "--target")
    parser.add_argument("--topic", metavar="TOPIC", required=True, help="the recorded topic")
    parser.add_argument("--to-topic", metavar="TOPIC", help="the target topic; created if missing (default: --topic)")
    parser.add_argument(
        "--speed",
        metavar="TIMES",
        type=float,
        default=SPEED_DEFAULT,
        help=f"seconds of the recording in one second (default: {SPEED_DEFAULT:g}, the original pace)",
    )
    parser.add_argument(
        "--timestamps", action="store_true", help="keep original times (default: the time of the replay)"
    )
    parser.add_argument(
        "--append", action="store_true", help="add to existing records (default: the topic must be empty)"
    )


def check(options: argparse.Namespace) -> ReplayPlan:
    if not 0 < options.speed < math.inf:
        raise CannotUse(f"--speed {options.speed:g} is not a number above 0; 10 is ten times as fast as it came")
    source = cluster.find(options, "--source")
    target = cluster.find(options, "--target")
    to_topic = options.to_topic or options.topic
    if to_topic == options.topic:
        targets.refuse_same(source, target)
    spans = source.spans(source.partitions([options.topic]))
    if to_topic in target.topics:
        targets.refuse_narrower(source, target, options.topic, to_topic)
        there = target.spans(target.partitions([to_topic]), read_committed=False)
        offsets = sum(span.offsets for span in there.values())
        if offsets and not options.append:
            raise CannotWork(f"{to_topic} is not empty, it has {offsets:,} offsets; --append adds to them")
    else:
        targets.make_as_wide(source, target, {options.topic: to_topic})
    return ReplayPlan(source, target, options.topic, to_topic, spans, options.speed, options.timestamps)


def run(spark: SparkSession, plan: ReplayPlan, progress: Progress) -> JobOutcome:
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.pace import due, in_due_order
    from ottla.pipeline.transforms.records import kept_to_send

    records = due(read(spark, plan.source.address, plan.spans, with_headers=True))
    recorded = records.agg(F.count("*").alias("rows"), (F.max("due_ms") - F.min("due_ms")).alias("span_ms")).head()
    assert recorded is not None, "an aggregate has a row"
    recorded_ms = recorded["span_ms"] or 0
    replay_ms = recorded_ms / plan.speed
    progress.step(
        f"playing {recorded['rows']:,} records of {recorded_ms / 1000:,.1f} s to {plan.to_topic}, "
        f"in {replay_ms / 1000:,.1f} s"
    )
    to_send = kept_to_send(records, "due_ms", with_timestamps=plan.with_timestamps)
    played = (
        in_due_order(to_send)
        .mapInArrow(_play(plan), _PLAYED_SCHEMA)
        .agg(F.sum("rows").alias("rows"), F.sum("bytes").alias("bytes"), F.max("late_ms_max").alias("late_ms_max"))
        .head()
    )
    assert played is not None, "an aggregate has a row"
    late_ms_max = round(played["late_ms_max"] or 0.0, 1)
    if late_ms_max > LATE_MS_MAX:
        progress.step(f"records came up to {late_ms_max:,.0f} ms late; a lower --speed, or a machine less busy, helps")
    found = {
        "source_cluster_id": plan.source.cluster_id,
        "target_cluster_id": plan.target.cluster_id,
        "topic": plan.to_topic,
        "recorded_ms": recorded_ms,
        "replay_ms": round(replay_ms, 3),
        "late_ms_max": late_ms_max,
    }
    return JobOutcome(
        played["rows"] or 0,
        len(plan.spans),
        played["bytes"] or 0,
        found,
        show=lambda: print_line(f"no record was more than {late_ms_max:,.1f} ms late"),
    )


def _play(plan: ReplayPlan) -> Callable[[Batches], Batches]:
    """What the task does."""
    address, topic, speed = plan.target.address, plan.to_topic, plan.speed

    def play(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        pace = ReplayPace(speed)
        rows, size = send(pace.pieces(batches), address, topic, linger_ms=_LINGER_MS)
        late_ms_max = pace.late_seconds_max * 1000
        yield pyarrow.RecordBatch.from_pydict({"rows": [rows], "bytes": [size], "late_ms_max": [late_ms_max]})

    return play


JOB: Final[Job[Any]] = Job(
    name="replay",
    summary="send a recorded topic to another cluster, at its original pace",
    description="Send a recorded topic to a topic of another cluster, at the pace of the records' times. Each record "
    "goes to the same partition, in order, with key, value and headers. A missing topic is created. The replay begins "
    f"{LEAD_SECONDS:g} s after the first record was read. On a machine that isn't overloaded, no record is more than "
    f"{LATE_MS_MAX:g} ms late; the line before the closing line has the largest lateness.\n"
    "The closing line counts sent records, the recording's partitions, and bytes of keys and values.",
    example="replay --source kafka.example.com:9092 --target 127.0.0.1:9092 --topic orders --speed 10",
    add_options=add_options,
    check=check,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

"""`ottla pipeline mirror`: topics and groups to another cluster, and on from there at any time.

The mirror itself shows how far it has come: each record has a header with its place at the source
(transforms/mirror.py), so the last record of a partition shows which comes next. No other state is kept. After a kill,
the next run goes on behind what arrived, and so does a task that Spark repeats.

    records     what is new, each partition in order, by one producer
    check       both sides whole: each record of the source once, equal, in order. Where that isn't so, it ends here
    groups      what they have committed at the source, as offsets of the target

Commits are read first and records up to a later moment, so that every committed offset is mirrored.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ottla.pipeline import cluster, targets
from ottla.pipeline.cluster import INTERNAL_TOPICS, OFFSETS_TOPIC, KafkaCluster, Partition, Span, read
from ottla.pipeline.job import Job, JobOutcome
from ottla.pipeline.launch import main
from ottla.pipeline.progress import Progress
from ottla.pipeline.refusals import CannotUse, CannotWork
from ottla.pipeline.sender import Batches, send
from ottla.pipeline.source_header import SOURCE_HEADER, read_mark
from ottla.pipeline.tails import last_records
from ottla.terminal.output import Columns, Item, print_line, print_table

if TYPE_CHECKING:
    import pyarrow
    from confluent_kafka import Message
    from pyspark.sql import DataFrame, SparkSession

_GROUPS_NAMED_MAX: Final = 20
_SENT_SCHEMA: Final = "rows bigint, bytes bigint"


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    source: KafkaCluster
    target: KafkaCluster
    topic_ids: dict[str, str]
    """Of the source, by name."""
    offsets_log: dict[Partition, Span]
    """Empty: groups are left alone."""
    here: dict[Partition, Span]
    """What there is at the source."""
    new: dict[Partition, Span]
    """What of it isn't at the target."""
    compacted: set[str]
    """Topics of which the target compacts."""
    groups: list[str]
    """Empty: all."""


def add_options(parser: argparse.ArgumentParser) -> None:
    cluster.add_options(parser, "--source", "the cluster to mirror")
    parser.add_argument("--target", metavar="HOST:PORT", required=True, help="any broker of the cluster to mirror to")
    cluster.add_command_config(parser, "--target")
    parser.add_argument(
        "--topic",
        metavar="TOPIC",
        action="append",
        default=[],
        help="only this topic (default: all except internal ones); may be repeated",
    )
    groups = parser.add_mutually_exclusive_group()
    groups.add_argument(
        "--group",
        metavar="GROUP",
        action="append",
        default=[],
        help="only this group (default: all with commits in these topics); may be repeated",
    )
    groups.add_argument("--no-groups", action="store_true", help="copy only records (default: committed offsets too)")


def check(options: argparse.Namespace) -> MirrorPlan:
    internal = sorted(INTERNAL_TOPICS.intersection(options.topic))
    if internal:
        raise CannotUse(f"{internal[0]} is a cluster's own and stays there; committed offsets are mirrored anyway")
    source = cluster.find(options, "--source")
    target = cluster.find(options, "--target")
    targets.refuse_same(source, target)
    topics = sorted(set(options.topic)) or sorted(source.topics.keys() - INTERNAL_TOPICS)
    if not topics:
        raise CannotWork(f"{source.bootstrap} has no topics; let --source name the cluster that has them")
    partitions = source.partitions(topics)
    targets.refuse_wider(source, target, topics)
    targets.refuse_times_not_kept(target, topics)
    topic_ids = source.topic_ids(topics)
    #: A fresh broker has none before the first group comes.
    has_groups = OFFSETS_TOPIC in source.topics and not options.no_groups
    offsets_log = source.spans(source.partitions([OFFSETS_TOPIC])) if has_groups else {}
    here = source.spans(partitions)
    nexts = next_offsets(target, partitions, topic_ids)
    targets.make_as_wide(source, target, {topic: topic for topic in topics})
    return MirrorPlan(
        source,
        target,
        topic_ids,
        offsets_log,
        here,
        {partition: Span(max(span.start, nexts[partition]), span.end) for partition, span in here.items()},
        targets.compacted(target, topics),
        options.group,
    )


def run(spark: SparkSession, plan: MirrorPlan, progress: Progress) -> JobOutcome:
    from ottla.pipeline.transforms import mirror

    sent = _send_new(spark, plan, progress)
    there = plan.target.spans(plan.here)
    progress.step(f"comparing {len(plan.here)} partitions")
    marks = mirror.marks(read(spark, plan.target.address, there, with_headers=True), plan.topic_ids).persist()
    try:
        digests = mirror.digests(read(spark, plan.source.address, plan.here, with_headers=True))
        compared = [row.asDict() for row in mirror.compared(digests, marks).orderBy("topic", "partition").collect()]
        _refuse_unequal(plan, compared, there)
        groups = _commit(spark, plan, marks, there, progress) if plan.offsets_log else NO_GROUPS
    finally:
        marks.unpersist()
    topics = _by_topic(plan, sent, compared)
    for topic in topics:
        if topic["missing"]:
            progress.step(
                f"{topic['missing']:,} records of {topic['topic']} aren't at the target any more: its compaction or "
                "retention has deleted them"
            )
    found = {
        "source_cluster_id": plan.source.cluster_id,
        "target_cluster_id": plan.target.cluster_id,
        "topics": topics,
        **groups,
    }
    rows, size = (sum(of_topic[index] for of_topic in sent.values()) for index in (0, 1))
    return JobOutcome(rows, len(plan.here), size, found, show=lambda: _show(topics, groups))


def next_offsets(
    target: KafkaCluster, partitions: Collection[Partition], topic_ids: Mapping[str, str]
) -> dict[Partition, int]:
    """Where a mirror goes on, in the source's offsets: behind the last record that is there.

    Raises `CannotWork` where that record isn't from this source: then the mirror's position is unknown.
    """
    there = target.spans([(topic, number) for topic, number in partitions if number in target.topics.get(topic, [])])
    lasts = last_records(target, there)
    nexts = dict.fromkeys(partitions, 0)
    for (topic, number), span in there.items():
        if span.end == 0:
            continue
        last = lasts[topic, number]
        mark = None if last is None else _mark(last)
        if mark is None or mark[0] != topic_ids[topic]:
            records = "no records any more" if last is None else "records that are not from this source"
            raise CannotWork(
                f"partition {number} of {topic} at {target.bootstrap} has {records}; "
                "a mirror goes on only behind its own, so delete the topic there, or leave it out"
            )
        nexts[topic, number] = mark[1] + 1
    return nexts


def _mark(record: Message) -> tuple[str, int] | None:
    """What a record's last header of ours says."""
    headers: Any = record.headers() or []
    found = [value for name, value in headers if name == SOURCE_HEADER]
    return read_mark(found[-1]) if found and found[-1] is not None else None


def _send_new(spark: SparkSession, plan: MirrorPlan, progress: Progress) -> dict[str, tuple[int, int]]:
    """Send what is new, topic by topic; returns rows and bytes of each."""
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.transforms.mirror import marked
    from ottla.pipeline.transforms.records import in_order, kept_to_send

    sent = {}
    for topic, topic_id in plan.topic_ids.items():
        new = {partition: span for partition, span in plan.new.items() if partition[0] == topic and span.offsets}
        if not new:
            continue
        progress.step(f"{topic}: up to {sum(span.offsets for span in new.values()):,} records are new")
        records = marked(read(spark, plan.source.address, new, with_headers=True), topic_id)
        ordered = in_order(kept_to_send(records, with_timestamps=True), 1 + max(number for _, number in new))
        lines = ordered.mapInArrow(_send_all(plan, topic), _SENT_SCHEMA)
        total = lines.agg(F.sum("rows"), F.sum("bytes")).head()
        assert total is not None, "an aggregate has a row"
        sent[topic] = (total[0] or 0, total[1] or 0)
    return sent


def _send_all(plan: MirrorPlan, topic: str) -> Callable[[Batches], Batches]:
    """What a task does with the records of a topic."""
    address, topic_id, timeout_seconds = plan.target.address, plan.topic_ids[topic], plan.target.timeout_seconds

    def send_all(batches: Batches) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.attemptNumber() > 0:
            target = KafkaCluster(address, timeout_seconds, "--target")
            batches = without_mirrored(batches, target, topic, topic_id)
        rows, size = send(batches, address, topic)
        yield pyarrow.RecordBatch.from_pydict({"rows": [rows], "bytes": [size]})

    return send_all


def without_mirrored(
    batches: Batches, target: KafkaCluster, topic: str, topic_id: str
) -> Iterator[pyarrow.RecordBatch]:
    """Records to send but those that are there: a task that failed half way may have sent some."""
    import pyarrow

    nexts: dict[int, int] = {}
    for batch in batches:
        numbers: list[Any] = batch.column("partition").to_pylist()
        unknown = [(topic, number) for number in dict.fromkeys(numbers) if number not in nexts]
        found = next_offsets(target, unknown, {topic: topic_id})
        nexts |= {number: offset for (_, number), offset in found.items()}
        offsets: list[Any] = batch.column("position").to_pylist()
        is_new = [offset >= nexts[number] for number, offset in zip(numbers, offsets, strict=True)]
        yield batch.filter(pyarrow.array(is_new, pyarrow.bool_()))


def _refuse_unequal(plan: MirrorPlan, compared: list[Item], there: Mapping[Partition, Span]) -> None:
    """Raise if a mirror isn't what its source is. What the target itself has deleted may be missing."""
    for counts in compared:
        topic, number = counts["topic"], counts["partition"]
        may_miss = topic in plan.compacted or there[topic, number].start > 0
        wrong = [name for name in ("different", "late") if counts[name]]
        wrong += ["missing"] if counts["missing"] and not may_miss else []
        if wrong:
            said = ", ".join(f"{counts[name]:,} {name}" for name in wrong)
            raise CannotWork(
                f"partition {number} of {topic} is not the same at {plan.target.bootstrap}: {said}; "
                "no group was touched; delete the topic there and mirror it again"
            )


def _commit(
    spark: SparkSession, plan: MirrorPlan, marks: DataFrame, there: Mapping[Partition, Span], progress: Progress
) -> Item:
    """Commit at the target what groups have committed at the source; returns what came of it."""
    from pyspark.sql import functions as F  # noqa: N812

    from ottla.pipeline.group_commits import committed
    from ottla.pipeline.transforms.mirror import translated
    from ottla.pipeline.transforms.offset_commits import newest_commits, offset_commits

    progress.step("taking committed offsets along")
    own = marks.sparkSession
    commits = newest_commits(offset_commits(read(own, plan.source.address, plan.offsets_log)))
    #: Kept, and so nothing that comes behind it is worked out before it; see `newest_commits`.
    commits = kept = commits.persist()
    if plan.groups:
        commits = commits.where(F.col("group").isin(plan.groups))
    rows = [(topic, number, span.start) for (topic, number), span in there.items()]
    starts = own.createDataFrame(rows, "topic string, partition int, start bigint")
    refused = F.col("refusal").isNotNull()
    named = F.sort_array(F.collect_list(F.when(refused, F.struct("group", "refusal"))))
    total = (
        committed(translated(commits, marks, starts), plan.target.address)
        .agg(
            F.count("*").alias("groups"),
            F.sum("written").alias("offsets_written"),
            F.sum("kept").alias("offsets_kept"),
            F.count_if(refused).alias("groups_left"),
            F.slice(named, 1, _GROUPS_NAMED_MAX).alias("left"),
        )
        .head()
    )
    kept.unpersist()
    assert total is not None, "an aggregate has a row"
    return {
        "groups": total["groups"],
        "offsets_written": total["offsets_written"] or 0,
        "offsets_kept": total["offsets_kept"] or 0,
        "groups_left": total["groups_left"],
        "left": [{"group_id": group["group"], "reason": group["refusal"]} for group in total["left"]],
    }


NO_GROUPS: Final[Item] = {"groups": 0, "offsets_written": 0, "offsets_kept": 0, "groups_left": 0, "left": []}


def _by_topic(plan: MirrorPlan, sent: dict[str, tuple[int, int]], compared: list[Item]) -> list[Item]:
    topics = []
    for topic in plan.topic_ids:
        counts = [line for line in compared if line["topic"] == topic]
        partitions = sum(of_topic == topic for of_topic, _ in plan.here)
        names = ("equal", "missing", "gone", "foreign")
        sums = {name: sum(line[name] for line in counts) for name in names}
        topics.append({"topic": topic, "partitions": partitions, "sent": sent.get(topic, (0, 0))[0], **sums})
    return topics


_COLUMNS: Final[Columns] = {
    "TOPIC": "topic",
    "PARTITIONS": "partitions",
    "SENT": "sent",
    "EQUAL": "equal",
    "MISSING": "missing",
    "GONE": "gone",
    "FOREIGN": "foreign",
}


def _show(topics: list[Item], groups: Item) -> None:
    print_table(topics, _COLUMNS)
    print_line(
        f"{groups['groups']:,} groups: {groups['offsets_written']:,} offsets committed, "
        f"{groups['offsets_kept']:,} there or further already"
    )
    for group in groups["left"]:
        print_line(f"left as it was: group {group['group_id']}, {group['reason']}")
    if groups["groups_left"] > len(groups["left"]):
        print_line(f"({groups['groups_left'] - len(groups['left']):,} more groups left as they were)")
    print_line()


JOB: Final[Job[Any]] = Job(
    name="mirror",
    summary="copy topics and groups to another cluster; can be continued at any time",
    description="Copy topics and their committed offsets from one cluster to another, for example from Ottla to a real "
    "Kafka, or back. Topics are created at the target with the same number of partitions. Each record is sent once, in "
    "order, to the same partition, with key, value, headers and time. Only committed transactions are read. A new "
    f"header, {SOURCE_HEADER}, says where a record comes from. A further run continues where the last one ended.\n"
    "A committed offset becomes the offset of the same record at the target. A group with members at the target is not "
    "changed, and no committed offset goes back.\n"
    "At the end both sides are compared record by record. EQUAL: at both sides. MISSING, GONE: deleted since, by the "
    "target or the source. FOREIGN: from other clients. Any other difference ends the job with exit code 1.\n"
    "The closing line counts sent records, partitions, and bytes of keys and values.",
    example="mirror --source 127.0.0.1:9092 --target kafka.example.com:9092 --topic orders",
    add_options=add_options,
    check=check,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(JOB))

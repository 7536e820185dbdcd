"""`ottla pipeline lag` over a live broker: what it says is what the coordinators say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.cli.terminal import ottla, until
from tests.pipeline.conftest import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def make_topic(bootstrap: str, topic: str, records: Mapping[int, int]) -> None:
    """A topic with so many records in each partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, len(records), 1)])[topic].result()
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition, count in records.items():
        for _ in range(count):
            producer.produce(topic, b"record", partition=partition)
    assert producer.flush(20) == 0


def commit(bootstrap: str, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit as somebody who resets offsets does."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    partitions = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    request = ConsumerGroupTopicPartitions(group, partitions)
    admin.alter_consumer_group_offsets([request])[group].result()


def read_some(bootstrap: str, group: str, topic: str, at_least: int) -> None:
    """A consumer of a group that reads, commits with metadata, and leaves."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    read = 0
    while read < at_least:
        read += len(consumer.consume(at_least - read, 1.0))
    consumer.commit(offsets=[_with_metadata(position) for position in consumer.position(consumer.assignment())])
    consumer.close()


def _with_metadata(position: TopicPartition) -> TopicPartition:
    offset = max(position.offset, 0)
    return TopicPartition(position.topic, position.partition, offset, metadata="from a test")


def described(bootstrap: str, group: str) -> list[tuple[Any, ...]]:
    """What `ottla groups describe` says of a group's partitions."""
    said = json.loads(ottla("groups", "describe", group, "--bootstrap-server", bootstrap, "--json").stdout)
    names = ("topic", "partition", "committed_offset", "log_end_offset", "lag")
    return sorted(tuple(offset[name] for name in names) for offset in said["offsets"])


def test_agrees_with_the_coordinators(bootstrap: str, pipeline: Pipeline) -> None:
    """Groups with and without members, one that went back, one that is at the end: to the last offset."""
    make_topic(bootstrap, "lag-orders", {0: 40, 1: 7, 2: 0})
    make_topic(bootstrap, "lag-bills", {0: 3})
    read_some(bootstrap, "lag-kitchen", "lag-orders", 47)
    commit(bootstrap, "lag-bar", "lag-orders", {0: 40, 1: 1})
    commit(bootstrap, "lag-bar", "lag-orders", {0: 4})
    commit(bootstrap, "lag-bar", "lag-bills", {0: 3})
    groups = ("lag-kitchen", "lag-bar")
    said = pipeline("lag", "--json", "--bootstrap-server", bootstrap, "--group", groups[0], "--group", groups[1]).json
    names = ("topic", "partition", "committed_offset", "log_end_offset", "lag")
    for group in groups:
        offsets = [offset for offset in said["offsets"] if offset["group_id"] == group]
        committed = [offset for offset in offsets if offset["committed_offset"] is not None]
        assert sorted(tuple(offset[name] for name in names) for offset in committed) == described(bootstrap, group)
    assert (said["groups"], said["committed_offsets"], said["lag"], said["unreadable"]) == (2, 6, 42, 0)
    assert said["offsets"][0]["lag"] == 36
    assert said["rows"] >= 7
    assert said["bytes"] > said["rows"]


def test_partition_without_a_commit_counts_from_its_log_start(bootstrap: str, pipeline: Pipeline) -> None:
    """The sum is that of `ottla groups lag`."""
    make_topic(bootstrap, "lag-half", {0: 4, 1: 3})
    commit(bootstrap, "lag-half-read", "lag-half", {0: 4})
    said = pipeline("lag", "--json", "--bootstrap-server", bootstrap, "--group", "lag-half-read").json
    rows = [
        (row["partition"], row["committed_offset"], row["lag"], bool(row["committed_at_ms"])) for row in said["offsets"]
    ]
    assert rows == [(1, None, 3, False), (0, 4, 0, True)]
    (asked,) = json.loads(ottla("groups", "lag", "lag-half-read", "--bootstrap-server", bootstrap, "--json").stdout)
    assert (said["lag"], said["committed_offsets"]) == (asked["lag"], 1)
    table = pipeline("lag", "--bootstrap-server", bootstrap, "--group", "lag-half-read").stdout.splitlines()
    assert table[1].split() == ["lag-half-read", "lag-half", "1", "-", "3", "3", "-"]


def test_what_is_gone_is_gone(bootstrap: str, pipeline: Pipeline, spark: SparkSession, tmp_path: Path) -> None:
    """Of a deleted group nothing is left, nor of a deleted topic; Parquet has what the terminal has no room for."""
    make_topic(bootstrap, "lag-kept", {0: 5})
    make_topic(bootstrap, "lag-deleted", {0: 5})
    for group in ("lag-leaving", "lag-staying"):
        commit(bootstrap, group, "lag-kept", {0: 2})
        commit(bootstrap, group, "lag-deleted", {0: 2})
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics(["lag-deleted"])["lag-deleted"].result()
    admin.delete_consumer_groups(["lag-leaving"])["lag-leaving"].result()
    until(lambda: len(described(bootstrap, "lag-staying")) == 1, "the deleted topic's offsets are gone")
    output = tmp_path / "lag.parquet"
    ended = pipeline(
        "lag", "--bootstrap-server", bootstrap, "--group", "lag-staying", "--group", "lag-leaving",
        "--top", 0, "--output", output,
    )  # fmt: skip
    assert ended.exit_code == 0
    closing = ended.stdout.splitlines()[-1]
    assert closing.startswith("lag: ")
    assert "(1 more; " in ended.stdout
    rows = spark.read.parquet(str(output)).select("group", "topic", "partition", "committed_offset", "lag").collect()
    assert [tuple(row) for row in rows] == [("lag-staying", "lag-kept", 0, 2, 3)]


def test_shows_a_table(bootstrap: str, pipeline: Pipeline) -> None:
    """Furthest behind first, the time in UTC, and one closing line."""
    make_topic(bootstrap, "lag-table", {0: 5, 1: 9})
    commit(bootstrap, "lag-shown", "lag-table", {0: 5, 1: 2})
    lines = pipeline("lag", "--bootstrap-server", bootstrap, "--group", "lag-shown").stdout.splitlines()
    assert lines[0].split()[:6] == ["GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG"]
    assert [line.split()[:6] for line in lines[1:3]] == [
        ["lag-shown", "lag-table", "1", "2", "9", "7"],
        ["lag-shown", "lag-table", "0", "5", "5", "0"],
    ]
    assert lines[-1].endswith(" seconds")

"""`ottla pipeline replay` into a live broker that writes down when records come."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.pipeline.conftest import BROKER_SETTINGS, Pipeline
from tests.pipeline.topics import LATE_MS, ODD_RECORDS, Sent, make_topic, read, send
from tests.support.ottla_process import ottla

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    with ottla(BROKER_SETTINGS) as broker:
        yield broker.bootstrap


def test_records_come_as_they_once_came(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """Two seconds of two partitions in one: none is early, and none later than is said, by the target's own clock."""
    topic, speed = "replay-orders", 2
    make_topic(bootstrap, topic, 2)
    recorded = [
        Sent(number % 2, b"%d" % number, b"", LATE_MS + at_ms, (("h", b"1"),))
        for number, at_ms in enumerate((0, 0, 300, 301, 302, 1000, 1700, 2000))
    ]
    send(bootstrap, topic, recorded)
    make_topic(elsewhere, topic, 2, message_timestamp_type="LogAppendTime")

    said = pipeline(
        "replay", "--json", "--source", bootstrap, "--target", elsewhere, "--topic", topic, "--speed", speed
    ).json  # fmt: skip

    assert (said["rows"], said["partitions"], said["recorded_ms"], said["replay_ms"]) == (8, 2, 2000, 1000)
    came = [record for partition in read(elsewhere, topic, [4, 4]) for record in partition]
    came.sort(key=lambda record: int(record.key or b""))
    assert [(r.partition, r.key, r.value, r.headers) for r in came] == [
        (r.partition, r.key, r.value, r.headers) for r in recorded
    ]
    late_ms = [
        (there.timestamp_ms - came[0].timestamp_ms) - (here.timestamp_ms - LATE_MS) / speed
        for there, here in zip(came, recorded, strict=True)
    ]
    #: The first was late itself, and a timestamp has no fractions; a machine may be busy between sending and writing.
    assert min(late_ms) >= -said["late_ms_max"] - 250
    assert max(late_ms) <= said["late_ms_max"] + 1000


def test_to_another_topic_with_original_times(bootstrap: str, pipeline: Pipeline) -> None:
    """Within one cluster too, if it has another name, which is made; a million times as fast, odd records and all."""
    topic, copy = "replay-odd", "replay-odd-copy"
    make_topic(bootstrap, topic, 2)
    send(bootstrap, topic, ODD_RECORDS)
    words = (
        "replay", "--source", bootstrap, "--target", bootstrap, "--topic", topic, "--to-topic", copy,
        "--speed", 1e6, "--timestamps",
    )  # fmt: skip
    ended = pipeline(*words)
    assert ended.exit_code == 0, ended.stderr
    assert "playing 6 records of 86,400.0 s to replay-odd-copy, in 0.1 s" in ended.stderr
    assert ended.stdout.splitlines()[0].startswith("no record was more than ")
    assert ended.stdout.splitlines()[1].startswith("replay: 6 rows, 2 partitions, ")
    there = read(bootstrap, copy, [3, 3])
    assert there == [[record for record in ODD_RECORDS if record.partition == number] for number in range(2)]

    again = pipeline(*words)
    assert (again.exit_code, again.stderr) == (
        1,
        f"ottla: {copy} is not empty, it has 6 offsets; --append adds to them\n",
    )


def test_ctrl_c_ends_it_in_one_line(spark: SparkSession, bootstrap: str, pipeline: Pipeline) -> None:
    """Of an hour's recording the first record is there when Ctrl-C comes. The session does nothing of its own about it,
    as PySpark would, so this is how every job ends."""
    topic, copy = "replay-stopped", "replay-stopped-copy"
    make_topic(bootstrap, topic, 1)
    send(bootstrap, topic, [Sent(0, None, b"first", LATE_MS), Sent(0, None, b"last", LATE_MS + 3_600_000)])

    def interrupt() -> None:
        """Raises in this thread if the record doesn't come; the job is interrupted all the same."""
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
        consumer.assign([TopicPartition(copy, 0, 0)])
        try:
            seen.extend(consumer.consume(1, 60))
        finally:
            consumer.close()
            os.kill(os.getpid(), signal.SIGINT)

    make_topic(bootstrap, copy, 1)
    seen: list[object] = []
    thread = Thread(target=interrupt)
    thread.start()
    words = ("replay", "--source", bootstrap, "--target", bootstrap, "--topic", topic, "--to-topic", copy)
    try:
        ended = pipeline(*words)
    finally:
        thread.join()
        spark.sparkContext.cancelAllJobs()  # the session isn't of this job alone, and so goes on
    assert len(seen) == 1
    assert (ended.exit_code, ended.stdout) == (130, "")
    assert ended.stderr.splitlines()[-1] == "ottla: replay was stopped before its end"


def test_refusals(bootstrap: str, elsewhere: str, pipeline: Pipeline) -> None:
    """Before Spark starts, in one line."""
    make_topic(bootstrap, "replay-refused", 2)
    make_topic(elsewhere, "replay-refused", 1)

    def refused(*arguments: object) -> tuple[int, str]:
        ended = pipeline("replay", "--source", bootstrap, "--topic", "replay-refused", *arguments)
        return ended.exit_code, ended.stderr.removeprefix("ottla: ").rstrip("\n")

    assert refused("--target", elsewhere, "--speed", 0) == (
        2,
        "--speed 0 is not a number above 0; 10 is ten times as fast as it came",
    )
    code, line = refused("--target", bootstrap)
    assert (code, line.split(", ")[0]) == (2, f"{bootstrap} and {bootstrap} are one cluster")
    assert refused("--target", elsewhere) == (
        1,
        f"replay-refused has fewer partitions at {elsewhere} than replay-refused at the source, 1 and not 2; "
        "add partitions there",
    )

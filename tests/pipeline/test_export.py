"""`ottla pipeline export` over a live broker: all of a record is kept, and every record is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE
from tests.pipeline.conftest import SPARK_SETTINGS, Pipeline
from tests.pipeline.topics import LATE_MS, ODD_RECORDS, Sent, make_topic, plain_records, send
from tests.support.ottla_process import ottla
from tests.support.soak import IS_SOAK

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

#: A JVM has to start, on a machine that has other work to do.
SECONDS_MAX: Final = 120.0


def rows_of(spark: SparkSession, folder: Path) -> list[Row]:
    """What Spark finds there, in order."""
    return spark.read.parquet(str(folder)).orderBy("topic", "partition", "offset").collect()


def sent_of(row: Row) -> Sent:
    at_ms = round(row["timestamp"].replace(tzinfo=UTC).timestamp() * 1000)
    headers = tuple((header["key"], header["value"] and bytes(header["value"])) for header in row["headers"] or ())
    key, value = (None if row[name] is None else bytes(row[name]) for name in ("key", "value"))
    return Sent(row["partition"], key, value, at_ms, tuple((name, _bytes(data)) for name, data in headers))


def _bytes(data: bytes | bytearray | None) -> bytes | None:
    return None if data is None else bytes(data)


def places_of(rows: list[Row]) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in rows]


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not happened():
        assert time.monotonic() < deadline, f"{what}: not within {SECONDS_MAX:.0f} seconds"
        time.sleep(0.005)


def test_all_of_a_record_is_kept(spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Key, value, headers, partition, offset, time and its type come through, nulls and empties apart; a day of UTC has
    a folder."""
    make_topic(bootstrap, "kept", 2)
    send(bootstrap, "kept", ODD_RECORDS)
    out = tmp_path / "out with a blank"
    told = pipeline("export", "--bootstrap-server", bootstrap, "--topic", "kept", "--output", out, "--json").json
    rows = rows_of(spark, out)
    assert [sent_of(row) for row in rows] == sorted(ODD_RECORDS, key=lambda record: record.partition)
    assert places_of(rows) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert {(row["topic"], row["timestampType"]) for row in rows} == {("kept", 0)}
    assert [path.name for path in sorted(out.glob("topic=kept/*"))] == [
        "date=2026-03-01",
        "date=2026-03-02",
    ]
    assert {row["date"] for row in rows if row["value"] == b"two"} == {date(2026, 3, 2)}
    assert (told["rows"], told["partitions"], told["is_resumed"]) == (6, 2, False)
    assert told["bytes"] == sum(len(record.key or b"") + len(record.value or b"") for record in ODD_RECORDS)


def test_it_goes_on_where_it_ended(spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """A second run brings what is new, a third nothing, and a partition that was added is read from its beginning."""
    admin = make_topic(bootstrap, "goes-on", 2)
    out = tmp_path / "out"
    command = ("export", "--bootstrap-server", bootstrap, "--topic", "goes-on", "--output", out, "--json")
    send(bootstrap, "goes-on", plain_records(100, 2))
    assert pipeline(*command).json["rows"] == 100
    assert pipeline(*command).json["rows"] == 0
    grow(admin, "goes-on", 3)
    send(bootstrap, "goes-on", plain_records(60, 3, first=100))
    assert pipeline(*command).json["rows"] == 60
    rows = rows_of(spark, out)
    assert len(rows) == len(set(places_of(rows))) == 160
    assert {bytes(row["key"]) for row in rows} == {b"%d" % number for number in range(160)}


def grow(admin: object, topic: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

    assert isinstance(admin, AdminClient)
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()


def test_it_follows_until_ctrl_c(spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """With --follow, what comes later is there a moment later; Ctrl-C ends it in good order."""
    make_topic(bootstrap, "followed", 1)
    send(bootstrap, "followed", plain_records(10, 1))
    out = tmp_path / "out"

    def batches() -> int:
        return len(list(out.glob("_checkpoint/commits/[0-9]*")))

    def play() -> None:
        try:
            until(lambda: batches() >= 1, "a first batch")
            send(bootstrap, "followed", plain_records(10, 1, first=10))
            until(lambda: batches() >= 2, "a second batch")
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=play)
    thread.start()
    ended = pipeline(
        "export", "--bootstrap-server", bootstrap, "--topic", "followed", "--output", out, "--follow", "--every", "0"
    )
    thread.join()
    assert ended.exit_code == 0, ended.stderr
    assert ended.stdout.startswith("export: 20 rows, 1 partitions, ")
    assert len(rows_of(spark, out)) == 20


@pytest.mark.soak
def test_killed_in_mid_batch_nothing_is_lost_or_doubled(
    spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path
) -> None:
    """Killed while the second batch was written (in `make soak` ten times, each a batch further on), the next run ends
    it: every record once, for Spark and for readers that only look at the folder."""
    kills = range(10) if IS_SOAK else range(1, 2)
    make_topic(bootstrap, "killed", 4)
    records = plain_records(100_000, 4)
    send(bootstrap, "killed", records)
    out = tmp_path / "out"
    command = (
        "export",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        "killed",
        "--output",
        out,
        "--batch-records",
        100_000 // (kills.stop + 2),
    )
    strays = [kill_in_mid_batch(command, out, after_batches=kill) for kill in kills]
    told = pipeline(*command, "--json").json
    assert told["is_resumed"]
    assert told["stray_files_removed"] >= len(set().union(*strays)) > 0
    rows = rows_of(spark, out)
    assert len(rows) == len(set(places_of(rows))) == 100_000
    assert {bytes(row["key"]) for row in rows} == {record.key for record in records}
    loose = spark.read.option("recursiveFileLookup", "true").parquet(str(out / "topic=killed"))
    assert loose.count() == 100_000


def kill_in_mid_batch(command: tuple[object, ...], out: Path, after_batches: int) -> set[str]:
    """Run it until so many batches have ended, and kill its JVM and itself as soon as the next one writes; returns the
    files that are in no batch."""
    arguments = [str(argument) for argument in command]
    settings = [f"{key}={value}" for key, value in SPARK_SETTINGS.items()]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ottla",
            "pipeline",
            *arguments,
            *(word for text in settings for word in ("--conf", text)),
        ],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until(
            lambda: len(numbers(out / "_checkpoint/commits")) >= after_batches or process.poll() is not None, "batches"
        )
        before = files(out)
        until(lambda: bool(files(out) - before) or process.poll() is not None, "a batch that writes")
        assert process.poll() is None, process.communicate()[1]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    begun, ended = (numbers(out / "_checkpoint" / name) for name in ("offsets", "commits"))
    assert begun - ended == {max(begun)}, "it was in the middle of a batch"
    listed = "".join(path.read_text() for path in out.glob("_spark_metadata/[0-9]*"))
    return {name for name in files(out) if name not in listed}


def files(out: Path) -> set[str]:
    return {path.name for path in out.glob("topic=*/*/*.parquet")}


def numbers(folder: Path) -> set[int]:
    return {int(path.name) for path in folder.glob("[0-9]*")}


def test_a_checkpoint_of_another_cluster_is_refused(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """The same topic of the same length at another cluster: the offsets would fit, the records wouldn't."""
    out = tmp_path / "out"
    make_topic(bootstrap, "whose", 1)
    send(bootstrap, "whose", plain_records(5, 1))
    command = ("export", "--topic", "whose", "--output", out, "--json", "--bootstrap-server")
    own_id = pipeline(*command, bootstrap).json["cluster_id"]
    with ottla() as other:
        make_topic(other.bootstrap, "whose", 1)
        send(other.bootstrap, "whose", plain_records(9, 1))
        ended = pipeline(*command, other.bootstrap)
    assert ended.exit_code == EXIT_USAGE
    lines = [line for line in ended.stderr.splitlines() if not line.endswith("starting Spark")]
    assert len(lines) == 1
    assert lines[0].startswith(f"ottla: the checkpoint file://{out}/_checkpoint is of cluster {own_id}, and this is ")


def test_a_topic_made_again_is_refused(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Deleted and made again, a topic has its name and nothing else of what was exported."""
    out = tmp_path / "out"
    admin = make_topic(bootstrap, "again", 1)
    send(bootstrap, "again", plain_records(5, 1))
    command = ("export", "--bootstrap-server", bootstrap, "--topic", "again", "--output", out)
    assert pipeline(*command).exit_code == 0
    admin.delete_topics(["again"])["again"].result()
    make_topic(bootstrap, "again", 1)
    send(bootstrap, "again", plain_records(9, 1))
    ended = pipeline(*command)
    assert ended.exit_code == EXIT_USAGE
    assert "topic again was deleted and made again since the checkpoint" in ended.stderr


def test_a_folder_that_is_no_export_is_refused(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Spark would skip as many batches as the folder has: without its checkpoint it can't be gone on with."""
    make_topic(bootstrap, "no-export", 1)
    (tmp_path / "somebody's.parquet").touch()
    ended = pipeline("export", "--bootstrap-server", bootstrap, "--topic", "no-export", "--output", tmp_path)
    assert ended.exit_code == EXIT_MACHINE
    assert f"--output file://{tmp_path} is there already and not empty" in ended.stderr


def test_records_deleted_before_they_were_exported(
    spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path
) -> None:
    """Retention was faster: it says so and stops, unless told to go on with what there is."""
    out = tmp_path / "out"
    admin = make_topic(bootstrap, "deleted", 1)
    command = ("export", "--bootstrap-server", bootstrap, "--topic", "deleted", "--output", out, "--json")
    send(bootstrap, "deleted", plain_records(5, 1))
    assert pipeline(*command).json["rows"] == 5
    send(bootstrap, "deleted", plain_records(10, 1, first=5))
    for answer in admin.delete_records([TopicPartition("deleted", 0, 8)]).values():
        answer.result()
    ended = pipeline(*command)
    assert ended.exit_code == EXIT_MACHINE
    assert "records were deleted before they were exported" in ended.stderr
    assert pipeline(*command, "--allow-missing").json["rows"] == 7
    assert [row["offset"] for row in rows_of(spark, out)] == [*range(5), *range(8, 15)]


def test_internal_topics_can_be_exported(
    spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path
) -> None:
    """__consumer_offsets too, which the connector leaves out in its usual mode."""
    make_topic(bootstrap, "committed", 1)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "exported"})
    consumer.commit(offsets=[TopicPartition("committed", 0, 3)], asynchronous=False)
    consumer.close()
    command = ("export", "--bootstrap-server", bootstrap, "--topic", "__consumer_offsets", "--output", tmp_path / "out")
    assert pipeline(*command, "--json").json["rows"] >= 1
    assert any(b"committed" in bytes(row["key"]) for row in rows_of(spark, tmp_path / "out"))


def test_late_is_a_time_of_day() -> None:
    """What the other tests rely on."""
    assert datetime.fromtimestamp(LATE_MS / 1000, UTC).isoformat() == "2026-03-01T23:59:59.500000+00:00"

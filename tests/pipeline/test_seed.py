"""`ottla pipeline seed` over a live broker: what files have is in the topic, in order, and once."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.pipeline.jobs.seed import format_of
from ottla.terminal.exit_codes import EXIT_MACHINE, EXIT_USAGE
from tests.pipeline.conftest import Pipeline
from tests.pipeline.topics import LATE_MS, ODD_RECORDS, Sent, make_topic, plain_records, read, send

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL_BUT_TOPIC = ("date", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")


def export(pipeline: Pipeline, bootstrap: str, out: Path, *topics: str) -> None:
    names = [word for topic in topics for word in ("--topic", topic)]
    ended = pipeline("export", "--bootstrap-server", bootstrap, *names, "--output", out)
    assert ended.exit_code == 0, ended.stderr


def last_line(stderr: str) -> str:
    return stderr.splitlines()[-1].removeprefix("ottla: ")


def test_what_was_exported_comes_back_equal(
    spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path
) -> None:
    """Export, seed, export: the two are equal row for row, offsets and times and headers included; one of two topics is
    asked for."""
    make_topic(bootstrap, "there", 3)
    make_topic(bootstrap, "0815", 1)
    send(bootstrap, "there", [*ODD_RECORDS, *plain_records(3000, 3)])
    send(bootstrap, "0815", plain_records(5, 1))
    export(pipeline, bootstrap, tmp_path / "first", "there", "0815")
    told = pipeline(
        *("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "first", "--from-topic", "there"),
        *("--topic", "back", "--create", 3, "--timestamps", "--json"),
    ).json
    assert (told["rows"], told["partitions"]) == (3006, 3)
    export(pipeline, bootstrap, tmp_path / "second", "back")
    first, second = (
        spark.read.parquet(str(tmp_path / name)).where(f"topic = '{topic}'").select(*ALL_BUT_TOPIC)
        for name, topic in (("first", "there"), ("second", "back"))
    )
    assert first.count() == second.count() == 3006
    assert first.exceptAll(second).count() == 0


def test_without_timestamps_records_are_of_today(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    make_topic(bootstrap, "old", 1)
    send(bootstrap, "old", plain_records(3, 1))
    export(pipeline, bootstrap, tmp_path / "out", "old")
    command = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "out", "--topic", "new", "--create", 1)
    assert pipeline(*command).stdout.startswith("seed: 3 rows, 1 partitions, 27 bytes, ")
    assert min(record.timestamp_ms for record in read(bootstrap, "new", [3])[0]) > LATE_MS + 1_000


def test_lines_of_json(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Each line is a value to the byte, in order; a field is the key, another the time, as text or as milliseconds."""
    lines = [
        '{"id": "ana", "at": "2026-03-01T23:59:59.500Z",   "amount": 1.10}',
        '{"id": 7, "at": 1772409599501}',
        "",
        '{"at": "1772409599502", "name": "Ĳsbrand"}',
    ]
    (tmp_path / "lines.jsonl").write_text("\n".join(lines))
    make_topic(bootstrap, "lines", 1)
    told = pipeline(
        *("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "lines.jsonl", "--topic", "lines"),
        *("--key", "id", "--timestamps", "at", "--json"),
    ).json
    assert told["rows"] == 3
    assert read(bootstrap, "lines", [3]) == [
        [
            Sent(0, b"ana", lines[0].encode(), LATE_MS),
            Sent(0, b"7", lines[1].encode(), LATE_MS + 1),
            Sent(0, None, lines[3].encode(), LATE_MS + 2),
        ]
    ]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.jsonl", "json"),
        ("a.b.json.gz", "json"),
        ("a.csv", "csv"),
        ("a.csv.bz2", "csv"),
        ("a", "parquet"),
        ("a.gz", "parquet"),
    ],
)
def test_the_name_says_what_is_in_it(name: str, found: str) -> None:
    """Packed or not."""
    assert format_of(f"file:///some/{name}") == found


def test_rows_of_csv_in_many_files(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Rows come in order of files and lines, each where a producer's key sends it."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for part in range(3):
        rows = "".join(f"k{number % 7},{part * 100 + number}\n" for number in range(100))
        (folder / f"{part}.csv").write_text(f"key,number\n{rows}")
    make_topic(bootstrap, "rows", 2)
    send_by_key(bootstrap, "rows-by-producer", [f"k{number}".encode() for number in range(7)])
    told = pipeline(
        *("seed", "--bootstrap-server", bootstrap, "--input", folder, "--format", "csv", "--topic", "rows"),
        *("--key", "key", "--json"),
    ).json
    assert told["rows"] == 300
    counts = counts_of(bootstrap, "rows", 2)
    found = read(bootstrap, "rows", counts)
    numbers = [[int(json.loads(record.value or b"")["number"]) for record in partition] for partition in found]
    assert sorted(number for partition in numbers for number in partition) == list(range(300))
    assert numbers == [sorted(partition) for partition in numbers]
    expected = read(bootstrap, "rows-by-producer", counts_of(bootstrap, "rows-by-producer", 2))
    assert [{record.key for record in partition} for partition in found] == [
        {record.key for record in partition} for partition in expected
    ]


def test_csv_as_most_programs_write_it(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Quotes, line breaks, commas and backslashes within a field, and names that Spark takes for more than names."""
    rows = [{"a.b": "1", "c`d": 'say "hi", ana'}, {"a.b": "2", "c`d": "two\nlines"}, {"a.b": "3", "c`d": "C:\\new\\"}]
    with (tmp_path / "odd.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    make_topic(bootstrap, "odd-csv", 1)
    command = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "odd.csv", "--topic", "odd-csv")
    assert pipeline(*command, "--key", "a.b", "--json").json["rows"] == 3
    found = read(bootstrap, "odd-csv", [3])[0]
    assert [record.key for record in found] == [b"1", b"2", b"3"]
    assert [json.loads(record.value or b"") for record in found] == rows


def send_by_key(bootstrap: str, topic: str, keys: list[bytes]) -> None:
    """By a partitioner as the Java client's."""
    from confluent_kafka import Producer

    make_topic(bootstrap, topic, 2)
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(topic, b"value", key)
    assert producer.flush(20) == 0


def counts_of(bootstrap: str, topic: str, partitions: int) -> list[int]:
    from ottla.pipeline.address import ClusterAddress
    from ottla.pipeline.cluster import KafkaCluster

    spans = KafkaCluster(ClusterAddress(bootstrap), 10).spans([(topic, partition) for partition in range(partitions)])
    return [span.end for span in spans.values()]


def test_it_resumes_where_it_ended(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """A seed that ended early has the first records of each partition in the topic; --resume sends the others, once."""
    records = plain_records(300, 3)
    make_topic(bootstrap, "whole", 3)
    send(bootstrap, "whole", records)
    export(pipeline, bootstrap, tmp_path / "out", "whole")
    make_topic(bootstrap, "begun", 3)
    done = {0: 40, 1: 100, 2: 0}
    send(bootstrap, "begun", [record for place, record in enumerate(records) if place // 3 < done[record.partition]])
    command = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "out", "--topic", "begun")
    assert "begun is not empty, it has 140 offsets" in pipeline(*command).stderr
    told = pipeline(*command, "--resume", "--timestamps", "--json").json
    assert (told["rows"], told["rows_there_before"]) == (160, 140)
    assert read(bootstrap, "begun", [100] * 3) == read(bootstrap, "whole", [100] * 3)


def test_it_says_how_far_it_got(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """A record the broker refuses ends it, with the number of those that are in the topic."""
    make_topic(bootstrap, "large", 1)
    send(bootstrap, "large", [*plain_records(10, 1), Sent(0, None, b"x" * 50_000, LATE_MS)])
    export(pipeline, bootstrap, tmp_path / "out", "large")
    make_topic(bootstrap, "small", 1, max_message_bytes="10000")
    ended = pipeline("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "out", "--topic", "small")
    assert ended.exit_code == EXIT_MACHINE
    assert last_line(ended.stderr).startswith("cannot send: small did not take a record, ")
    assert "Message size too large" in last_line(ended.stderr)
    assert " of 11 records are in small" in ended.stderr.splitlines()[-2]


@pytest.mark.parametrize(
    ("content", "options", "exit_code", "line"),
    [
        ("a,b\n1,2\n", ["--key", "c"], EXIT_USAGE, "the input has no field c; it has a, b"),
        ("a,b\n1,2\n", ["--resume"], EXIT_USAGE, "--resume needs records as `export` writes them, and "),
        ("a\nyesterday\n", ["--timestamps", "a"], EXIT_MACHINE, "not a time: yesterday; what was sent before is in "),
        ("a\n0\n", ["--timestamps", "a"], EXIT_MACHINE, "cannot send: a record has the time 0 ms; "),
    ],
    ids=["no such field", "rows can't be resumed", "not a time", "a time producers don't send"],
)
def test_rows_that_cannot_be_sent(
    bootstrap: str,
    pipeline: Pipeline,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    content: str,
    options: list[str],
    exit_code: int,
    line: str,
) -> None:
    (tmp_path / "rows.csv").write_text(content)
    topic = f"refused-{request.node.callspec.indices['line']}"
    command = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "rows.csv", "--topic", topic)
    ended = pipeline(*command, "--create", 1, *options)
    assert ended.exit_code == exit_code
    assert last_line(ended.stderr).startswith(line)


@pytest.mark.parametrize("option", ["--key", "--value", "--timestamps"])
def test_a_field_that_no_line_has(bootstrap: str, pipeline: Pipeline, tmp_path: Path, option: str) -> None:
    """It is misspelt, and nothing is sent."""
    (tmp_path / "lines.jsonl").write_text('{"id": 1, "amount": null}\n{"id": 2}\n')
    command = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "lines.jsonl", "--topic", f"no{option}")
    ended = pipeline(*command, "--create", 1, option, "idd")
    assert (ended.exit_code, last_line(ended.stderr)) == (
        EXIT_USAGE,
        "no line of the input has anything in idd; name a field that is there",
    )
    assert read(bootstrap, f"no{option}", [0]) == [[]]


def test_records_that_do_not_fit(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """A topic with fewer partitions, and an export with more topics than one."""
    for topic in ("one", "two"):
        make_topic(bootstrap, topic, 2)
        send(bootstrap, topic, plain_records(4, 2))
    export(pipeline, bootstrap, tmp_path / "out", "one", "two")
    make_topic(bootstrap, "narrow", 1)
    command: tuple[Any, ...] = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "out")
    ended = pipeline(*command, "--topic", "narrow")
    assert (ended.exit_code, last_line(ended.stderr)) == (
        EXIT_USAGE,
        "the input has several topics; name one with --from-topic: one, two",
    )
    ended = pipeline(*command, "--topic", "narrow", "--from-topic", "one")
    assert (ended.exit_code, last_line(ended.stderr)) == (
        EXIT_MACHINE,
        "the input has 2 partitions and narrow only 1; make it with as many",
    )

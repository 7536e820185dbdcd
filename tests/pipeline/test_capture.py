"""`ottla pipeline capture` over a live broker: the piece that was asked for, and nothing that nobody may see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from ottla.terminal.exit_codes import EXIT_USAGE
from tests.pipeline.conftest import Pipeline
from tests.pipeline.topics import LATE_MS, Sent, make_topic, plain_records, read, send

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What must never be in a file.
SECRET = "Ana Amsel"


def upper_case(records: DataFrame) -> DataFrame:
    """Somebody's own --redact."""
    return records.withColumn("value", F.upper(F.col("value").cast("string")).cast("binary"))


def without_values(records: DataFrame) -> DataFrame:
    """Somebody's own, which is wrong."""
    return records.drop("value")


def captured(spark: SparkSession, folder: Path) -> list[tuple[int, int, bytes | None, bytes | None]]:
    rows = spark.read.parquet(str(folder)).orderBy("partition", "offset").collect()
    return [
        (
            row["partition"],
            row["offset"],
            *(None if row[name] is None else bytes(row[name]) for name in ("key", "value")),
        )
        for row in rows
    ]


@pytest.fixture(scope="module")
def numbered(bootstrap: str) -> str:
    """A topic of 100 records in two partitions, a millisecond apart."""
    make_topic(bootstrap, "numbered", 2)
    send(bootstrap, "numbered", plain_records(100, 2))
    return "numbered"


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ([], range(100)),
        (["--from", "2026-03-01T23:59:59.510", "--to", "2026-03-02T00:59:59.520+01:00"], range(10, 20)),
        (["--from-offset", 3, "--to-offset", 5], range(6, 10)),
        (["--last", 2], range(96, 100)),
        (["--from-offset", 10, "--limit", 1], range(20, 22)),
        (["--from", "2027-01-01"], range(0)),
        (["--from", "1969-12-31T23:59:59.999"], range(100)),
        (["--to", "1960-01-01"], range(0)),
    ],
    ids=["all", "times", "offsets", "the last", "the first of each", "nothing", "before 1970 on", "until before 1970"],
)
def test_the_piece_that_was_asked_for(
    spark: SparkSession,
    bootstrap: str,
    pipeline: Pipeline,
    tmp_path: Path,
    numbered: str,
    options: list[object],
    numbers: range,
) -> None:
    out = tmp_path / "out"
    command = ("capture", "--bootstrap-server", bootstrap, "--topic", numbered, "--output", out, "--json")
    told = pipeline(*command, *options).json
    assert told["rows"] == len(numbers)
    assert sorted(int(key or b"") for _, _, key, _ in captured(spark, out)) == list(numbers)
    assert told["bytes"] == sum(path.stat().st_size for path in out.glob("[!.]*"))


def test_a_fixture_that_can_be_seeded(
    spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path, numbered: str
) -> None:
    """Half of the records, the same half again; from one file, in order, a topic for tests."""
    command = ("capture", "--bootstrap-server", bootstrap, "--topic", numbered, "--sample", 0.5, "--json")
    assert 20 < pipeline(*command, "--output", tmp_path / "out").json["rows"] < 80
    pipeline(*command, "--output", tmp_path / "again")
    half = captured(spark, tmp_path / "out")
    assert captured(spark, tmp_path / "again") == half
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1
    seed = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "out", "--topic", "half", "--create", 2)
    assert pipeline(*seed, "--timestamps").exit_code == 0
    found = read(bootstrap, "half", [sum(place[0] == partition for place in half) for partition in (0, 1)])
    assert [record.key for partition in found for record in partition] == [key for _, _, key, _ in half]
    assert all(record.timestamp_ms == LATE_MS + int(record.key or b"") for partition in found for record in partition)


def test_what_nobody_may_see(spark: SparkSession, bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Fields and headers are replaced, equal ones by equal ones; the user's own function comes last; a field that was
    nowhere is said."""
    make_topic(bootstrap, "customers", 1)
    value = f'{{"customer":{{"name":"{SECRET}","city":"Wien"}},"total":%d}}'
    send(
        bootstrap,
        "customers",
        [
            Sent(0, SECRET.encode(), (value % 1).encode(), LATE_MS, (("who", SECRET.encode()), ("what", b"a"))),
            Sent(0, SECRET.encode(), (value % 2).encode(), LATE_MS),
            Sent(0, None, f"not JSON: {SECRET}".encode(), LATE_MS),
            Sent(0, None, None, LATE_MS),
        ],
    )
    paths = ("key", "value.customer.name", "headers.who", "value.customer.nmae")
    ended = pipeline(
        *("capture", "--bootstrap-server", bootstrap, "--topic", "customers", "--output", tmp_path / "out", "--json"),
        *(word for path in paths for word in ("--redact-field", path)),
        *("--salt", "pepper", "--redact", f"{__name__}:upper_case"),
    )
    assert ended.json["redacted"] == dict(zip(paths, (2, 2, 1, 0), strict=True))
    assert "value.customer.nmae was in none of the 4 records" in ended.stderr
    first, second, third, fourth = captured(spark, tmp_path / "out")
    assert first[2] == second[2] != SECRET.encode()
    name = (first[3] or b"").split(b'"')[5]
    assert first[3] == b'{"CUSTOMER":{"NAME":"' + name + b'","CITY":"WIEN"},"TOTAL":1}'
    assert second[3] == b'{"CUSTOMER":{"NAME":"' + name + b'","CITY":"WIEN"},"TOTAL":2}'
    assert len(third[3] or b"") == 16
    assert fourth[2:] == (None, None)
    headers: Any = spark.read.parquet(str(tmp_path / "out")).orderBy("offset").first()
    assert [(header["key"], len(header["value"])) for header in headers["headers"]] == [("who", 16), ("what", 1)]
    for column in ("key", "value", "headers"):
        texts = spark.read.parquet(str(tmp_path / "out")).select(F.col(column).cast("string").alias("text"))
        assert texts.where(F.lower("text").contains(SECRET.lower())).count() == 0


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--sample", "0"], "--sample 0 is not above 0 and up to 1; it is a part of all"),
        (["--limit", "0"], "--limit 0 is below 1"),
        (["--from", "noon"], "--from noon is not a time such as 2026-03-01T09:00, or 2026-03-01T09:00+01:00"),
        (
            ["--redact-field", "name"],
            "--redact-field name is not key, value, headers, or one of those with fields: value.customer.name",
        ),
        (["--redact", "nowhere:hide"], "--redact nowhere:hide is not MODULE:FUNCTION that can be imported here: "),
        (
            ["--redact", f"{__name__}:SECRET"],
            f"--redact {__name__}:SECRET is no function; name one that takes a DataFrame",
        ),
        (["--from-offset", "4", "--to-offset", "4"], "--from-offset 4 is not below --to-offset 4"),
        (["--from", "2026-03-02", "--to", "2026-03-01"], "--from 2026-03-02 is not before --to 2026-03-01"),
        (["--redact", f"{__name__}:without_values"], "--redact gave other columns than it got: "),
    ],
)
def test_what_cannot_be_used(
    bootstrap: str, pipeline: Pipeline, tmp_path: Path, numbered: str, options: list[str], line: str
) -> None:
    command = ("capture", "--bootstrap-server", bootstrap, "--topic", numbered, "--output", tmp_path / "out")
    ended = pipeline(*command, *options)
    assert ended.exit_code == EXIT_USAGE
    assert ended.stderr.splitlines()[-1].startswith(f"ottla: {line}")
    assert not (tmp_path / "out").exists()

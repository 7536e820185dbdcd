"""What the jobs make of transactions: of a topic with committed, aborted and open ones, and of a group that commits so.

A log with transactions has offsets without a record: where one ended, and where aborted records are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.pipeline.conftest import BROKER_SETTINGS, Pipeline
from tests.pipeline.topics import make_topic, read
from tests.support.ottla_process import ottla

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC: Final = "transfers"
GROUP: Final = "booking"
SECONDS_MAX: Final = 30.0
#: At 3 a transaction ends, at 4 is an aborted record and at 5 its end, at 8 the next end.
COMMITTED: Final = [b"1", b"2", b"3", b"4", b"5"]
PLACES: Final = [0, 1, 2, 6, 7]
#: Behind them, the offset of a record whose transaction is open.
OPEN_AT: Final = 9


class Bookkeeper:
    """A transactional producer, which commits an offset of its group with its records."""

    def __init__(self, bootstrap: str) -> None:
        client: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap}
        timeout = {"transaction.timeout.ms": 900_000}  # a transaction stays open as long as the jobs take
        self._producer = Producer(client | {"transactional.id": "bookkeeper"} | timeout)
        self._producer.init_transactions(SECONDS_MAX)
        self._outsider = Consumer(client | {"group.id": GROUP})

    def begin(self, offset: int, *values: bytes) -> None:
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(TOPIC, value, partition=0)
        position = TopicPartition(TOPIC, 0, offset)
        metadata = self._outsider.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([position], metadata, SECONDS_MAX)
        assert self._producer.flush(SECONDS_MAX) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(SECONDS_MAX)

    def abort(self) -> None:
        self._producer.abort_transaction(SECONDS_MAX)

    def close(self) -> None:
        self._outsider.close()


@pytest.fixture(scope="module")
def books() -> Iterator[tuple[str, Bookkeeper]]:
    """A broker of its own, for an open transaction holds back who reads all groups' commits; and who has it open."""
    with ottla(BROKER_SETTINGS) as broker:
        make_topic(broker.bootstrap, TOPIC, 1)
        bookkeeper = Bookkeeper(broker.bootstrap)
        bookkeeper.begin(3, *COMMITTED[:3])
        bookkeeper.commit()
        bookkeeper.begin(99, b"never")
        bookkeeper.abort()
        bookkeeper.begin(8, *COMMITTED[3:])
        bookkeeper.commit()
        bookkeeper.begin(500, b"6")
        yield broker.bootstrap, bookkeeper
        bookkeeper.close()


def rows_in(spark: SparkSession, folder: Path) -> list[tuple[int, bytes]]:
    """Offsets and values."""
    rows = spark.read.parquet(str(folder)).orderBy("offset").collect()
    return [(row["offset"], bytes(row["value"])) for row in rows]


def test_lag_goes_by_what_is_committed(books: tuple[str, Bookkeeper], pipeline: Pipeline) -> None:
    """Not by the offset of an aborted transaction or an open one. Ends are the log's, as Kafka's tools have it."""
    bootstrap, _ = books
    (found,) = pipeline("lag", "--json", "--bootstrap-server", bootstrap).json["offsets"]
    assert (found["group_id"], found["committed_offset"], found["log_end_offset"]) == (GROUP, 8, OPEN_AT + 1)


def test_capture_has_the_committed_records(
    books: tuple[str, Bookkeeper], spark: SparkSession, pipeline: Pipeline, tmp_path: Path
) -> None:
    bootstrap, _ = books
    out = tmp_path / "out"
    said = pipeline("capture", "--json", "--bootstrap-server", bootstrap, "--topic", TOPIC, "--output", out).json
    assert (said["rows"], said["offsets_read"]) == (5, OPEN_AT)
    assert rows_in(spark, out) == list(zip(PLACES, COMMITTED, strict=True))


def test_replay_plays_the_committed_records(books: tuple[str, Bookkeeper], pipeline: Pipeline) -> None:
    bootstrap, _ = books
    said = pipeline(
        "replay", "--json", "--source", bootstrap, "--target", bootstrap, "--topic", TOPIC, "--to-topic", "played",
        "--speed", 1e6,
    ).json  # fmt: skip
    assert said["rows"] == 5
    assert [record.value for record in read(bootstrap, "played", [5])[0]] == COMMITTED


def test_mirror_has_the_committed_records_and_offsets(books: tuple[str, Bookkeeper], pipeline: Pipeline) -> None:
    """The group is behind all of them, and its offset there says so, though the mirror has no ends to count."""
    bootstrap, _ = books
    with ottla() as elsewhere:
        said = pipeline(
            "mirror", "--json", "--source", bootstrap, "--target", elsewhere.bootstrap, "--topic", TOPIC
        ).json  # fmt: skip
        (topic,) = said["topics"]
        assert (topic["sent"], topic["equal"]) == (5, 5)
        assert [record.value for record in read(elsewhere.bootstrap, TOPIC, [5])[0]] == COMMITTED
        assert committed(elsewhere.bootstrap) == 5


def test_export_goes_on_when_a_transaction_has_ended(
    books: tuple[str, Bookkeeper], spark: SparkSession, pipeline: Pipeline, tmp_path: Path
) -> None:
    """What was open comes with the next run, once it is committed; each record once, each end never."""
    bootstrap, bookkeeper = books
    out = tmp_path / "out"
    export = ("export", "--json", "--bootstrap-server", bootstrap, "--topic", TOPIC, "--output", out)
    assert pipeline(*export).json["rows"] == 5
    assert rows_in(spark, out) == list(zip(PLACES, COMMITTED, strict=True))
    bookkeeper.commit()
    assert pipeline(*export).json["rows"] == 1
    assert rows_in(spark, out) == [*zip(PLACES, COMMITTED, strict=True), (OPEN_AT, b"6")]


def committed(bootstrap: str) -> int:
    """What the group has committed there."""
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    (position,) = client.committed([TopicPartition(TOPIC, 0)], SECONDS_MAX)
    client.close()
    return position.offset

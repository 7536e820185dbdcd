"""Jobs that find nothing to do: they end, and say that it was nothing.

Spark would observe nothing of what it finds out to be empty, and who asked what was observed would wait for ever; a
setting of the session's forbids it. Should it come back, these tests don't wait with it: each has a bound.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.pipeline.conftest import Pipeline
from tests.pipeline.topics import make_topic, plain_records, send
from tests.support.ottla_process import ottla

SECONDS_MAX = 60


@pytest.fixture(autouse=True)
def _bound() -> Iterator[None]:
    def expired(*_: object) -> None:
        raise TimeoutError(f"it waits for something that doesn't come within {SECONDS_MAX} seconds")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(SECONDS_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_lag_where_no_group_ever_was(pipeline: Pipeline) -> None:
    """Neither without a group log, as a fresh broker is, nor with one in which nothing is."""
    with ottla() as fresh:
        make_topic(fresh.bootstrap, "alone", 1)
        command = ("lag", "--bootstrap-server", fresh.bootstrap)
        ended = pipeline(*command)
        assert (ended.exit_code, ended.stdout.startswith("lag: 0 rows, 0 partitions, 0 bytes, ")) == (0, True)
        consumer = Consumer({"bootstrap.servers": fresh.bootstrap, "group.id": "asks"})
        consumer.committed([TopicPartition("alone", 0)], timeout=20)
        consumer.close()
        told = pipeline(*command, "--json").json
        assert (told["rows"], told["committed_offsets"], told["groups"], told["offsets"]) == (0, 0, 0, [])


def test_lag_of_a_group_that_is_not(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """The log has commits, and none is of this group."""
    make_topic(bootstrap, "nothing-lag", 1)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "nothing-somebody"})
    consumer.commit(offsets=[TopicPartition("nothing-lag", 0, 0)], asynchronous=False)
    consumer.close()
    command = ("lag", "--bootstrap-server", bootstrap, "--group", "nothing-nobody", "--output", tmp_path / "out")
    ended = pipeline(*command, "--json")
    told = ended.json
    assert (told["committed_offsets"], told["lag"]) == (0, 0)
    assert "no commit of nothing-nobody was found; `ottla groups` lists the groups there are" in ended.stderr
    assert told["rows"] > 0


BEYOND_ALL_TIMES = '{"v": 1, "t": 9223372036854775807, "group": "g", "seq": 0, "event": "group.created"}\n'


def test_rebalances_of_a_journal_in_which_nothing_happened(pipeline: Pipeline, tmp_path: Path) -> None:
    """The report is made all the same."""
    journal = tmp_path / "journal.jsonl"
    journal.write_text("")
    told = pipeline("rebalances", journal, "--report", tmp_path / "r.html", "--output", tmp_path / "o", "--json").json
    assert (told["group_count"], told["rebalance_count"], told["rows"]) == (0, 0, 0)
    assert "Nothing happened in any group." in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("lines", ["no JSON\nat all\n", 2 * BEYOND_ALL_TIMES], ids=["garbage", "beyond all times"])
def test_rebalances_of_what_is_no_journal(pipeline: Pipeline, tmp_path: Path, lines: str) -> None:
    """Refused in one line, and nothing is written."""
    garbage, output = tmp_path / "garbage", tmp_path / "found"
    garbage.write_text(lines)
    ended = pipeline("rebalances", "--output", output, garbage)
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "is no journal: none of its lines (2) is JSON" in ended.stderr.splitlines()[-1]
    assert not output.exists()


def test_empty_topics(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """Exported twice, seeded, captured, replayed and mirrored: no rows, and no failure."""
    make_topic(bootstrap, "nothing", 2)
    at = ("--bootstrap-server", bootstrap, "--topic", "nothing", "--json")
    assert pipeline("export", *at, "--output", tmp_path / "export").json["rows"] == 0
    again = pipeline("export", *at, "--output", tmp_path / "export").json
    assert (again["rows"], again["is_resumed"]) == (0, True)
    seed = ("seed", "--bootstrap-server", bootstrap, "--input", tmp_path / "export", "--topic", "nothing", "--json")
    assert pipeline(*seed, "--from-topic", "nothing").json["rows"] == 0
    assert pipeline("capture", *at, "--output", tmp_path / "capture").json["rows"] == 0
    with ottla() as other:
        pair = ("--source", bootstrap, "--target", other.bootstrap, "--topic", "nothing", "--json")
        assert pipeline("replay", *pair).json["rows"] == 0
        told = pipeline("mirror", *pair).json
        assert (told["rows"], told["groups"]) == (0, 0)


def test_capture_of_a_sample_that_meets_none(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """There are records, and none of them is taken."""
    make_topic(bootstrap, "nothing-taken", 1)
    send(bootstrap, "nothing-taken", plain_records(20, 1))
    command = ("capture", "--bootstrap-server", bootstrap, "--topic", "nothing-taken", "--sample", "1e-9")
    told = pipeline(*command, "--redact-field", "value", "--output", tmp_path / "out", "--json").json
    assert (told["rows"], told["offsets_read"], told["redacted"]) == (0, 20, {"value": 0})


def test_seed_of_files_without_rows(bootstrap: str, pipeline: Pipeline, tmp_path: Path) -> None:
    """An empty file, a CSV with nothing but a header, and what `capture` makes of an empty topic."""
    make_topic(bootstrap, "nothing-seeded", 1)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "header.csv").write_text("name,price\n")
    at = ("--bootstrap-server", bootstrap, "--topic", "nothing-seeded", "--json")
    pipeline("capture", *at, "--output", tmp_path / "captured.parquet")
    for name in ("empty.jsonl", "header.csv", "captured.parquet"):
        assert pipeline("seed", *at, "--input", tmp_path / name).json["rows"] == 0

"""`ottla pipeline rebalances` over the journal of a live broker with real consumers, and what its report looks like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer

from tests.cli.terminal import until
from tests.cli.test_rebalances import rebalances
from tests.pipeline.conftest import BROKER_SETTINGS, Pipeline
from tests.pipeline.test_lag import make_topic
from tests.rebalances.journals import walk
from tests.support.ottla_process import ottla

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def consumer(bootstrap: str, client_id: str) -> Consumer:
    """A member of the group, once it has partitions."""
    new = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "group.id": "kitchen",
            "heartbeat.interval.ms": 100,
        }
    )
    new.subscribe(["orders"])
    return new


def poll_until_shared(*consumers: Consumer) -> None:
    """Until each of them has a partition, and none has what another has."""

    def is_shared() -> bool:
        for member in consumers:
            member.poll(0.02)
        held = [partition.partition for member in consumers for partition in member.assignment()]
        return sorted(held) == [0, 1] and all(member.assignment() for member in consumers)

    until(is_shared, "everybody has a partition")


def write_journal(path: Path) -> None:
    """Ana reads alone, Bo comes, Bo leaves, Ana leaves, the broker ends."""
    with ottla(BROKER_SETTINGS, "--journal", str(path)) as broker:
        make_topic(broker.bootstrap, "orders", {0: 1, 1: 1})
        ana = consumer(broker.bootstrap, "ana")
        poll_until_shared(ana)
        bo = consumer(broker.bootstrap, "bo")
        poll_until_shared(ana, bo)
        bo.close()
        poll_until_shared(ana)
        ana.close()


def test_tells_of_a_group_s_life(pipeline: Pipeline, spark: SparkSession, tmp_path: Path) -> None:
    """Two came and two left: the table, Parquet and the report say so, of what two files say."""
    folder = tmp_path / "my journals, 100%"
    folder.mkdir()
    journal = folder / "broker.jsonl"
    write_journal(journal)
    lines = journal.read_text().splitlines(keepends=True)
    (folder / "later.jsonl").write_text("".join(lines[5:]))
    journal.write_text("".join(lines[:5]))
    output, report = tmp_path / "found", tmp_path / "report.html"
    said = pipeline("rebalances", "--json", "--output", output, "--report", report, folder / "*.jsonl").json

    (group,) = said["groups"]
    assert (group["group"], group["joined"], group["removed"], group["emptied"]) == ("kitchen", 2, 2, 1)
    assert group["rebalances"] == group["completed"] + group["interrupted"] + 1
    assert (group["unfinished"], group["unfinished_state"], group["lost_lines"]) == (0, None, 0)
    assert {"member_joined", "member_left"} <= {cause["cause"] for cause in said["causes"]}
    assert {member["client_id"] for member in said["members"]} == {"ana", "bo"}
    assert (said["rows"], said["passed_over"]) == (len(lines), 0)
    assert said["bytes"] == sum(map(len, lines))

    found = spark.read.parquet(f"{output}/rebalances")
    assert found.count() == said["rebalance_count"] == group["rebalances"]
    spans = spark.read.parquet(f"{output}/states").where("state in ('PreparingRebalance', 'CompletingRebalance')")
    assert spans.agg({"duration_ms": "sum"}).collect()[0][0] == group["not_stable_ms"]
    html = report.read_text()
    assert "kitchen" in html
    assert len(html) < 100_000


def test_a_table_for_people(pipeline: Pipeline, tmp_path: Path) -> None:
    """And a torn last line, of a broker that was killed, is passed over with a word. Named twice, it is read once."""
    journal = tmp_path / "journal.jsonl"
    started = '{"v":1,"line":2,"t":9,"group":"g","seq":2,"event":"group.rebalance.started","state":"PreparingRebalance"'
    journal.write_text(
        '{"v":1,"line":1,"t":1,"group":"g","seq":1,"event":"group.created","state":"Empty","generation":0}\n'
        f'{started},"cause":"member_joined"}}\n{started}'
    )
    ended = pipeline("rebalances", journal, journal)
    assert ended.exit_code == 0
    lines = ended.stdout.splitlines()
    assert lines[0] == "1 group, 1 rebalance in 8 ms."
    at = lines.index(next(line for line in lines if line.startswith("GROUP  REBALANCES  INTERRUPTED  UNSTABLE MS")))
    assert lines[at + 1].split() == ["g", "1", "0", "0", "0", "-", "-", "0", "0", "PreparingRebalance", "0"]
    assert lines[-1].startswith(f"rebalances: 3 rows, 1 partitions, {journal.stat().st_size} bytes, ")
    assert "1 lines were passed over" in ended.stderr


def test_finds_what_the_command_without_spark_finds(pipeline: Pipeline, tmp_path: Path) -> None:
    """Every figure, name and order, and the same report, of a journal in which anything may happen."""
    journal, report, page = tmp_path / "walk.jsonl", tmp_path / "report.html", tmp_path / "page.html"
    journal.write_text(walk(seed=16, lines=3_000).text + '{"v":1,"torn')
    said = pipeline("rebalances", "--json", "--report", report, "--top", 4, journal).json
    found = rebalances(journal, "--json", "--top", 4)
    assert found["lost_lines"] > 0
    assert found["passed_over"] == 1
    assert {key: said[key] for key in found if key in said} == {key: found[key] for key in found if key in said}
    rebalances(journal, "--html", page, "--top", 4)
    assert report.read_text() == page.read_text()

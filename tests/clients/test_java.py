"""Apache Kafka's own consumer, in Java: the client whose habits the coordinator was written for.

It comes with the jars that the comparison with Kafka fetches, and is run from its source by `java`; where either is
missing the tests are skipped and say so. Two small stories, one of eager and cooperative members and one of
transactions; what the other libraries play in many tests stands beside this file.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.clients.conftest import MakeTopic, unique_name
from tests.clients.java import missing_java
from tests.support.backstage import Backstage
from tests.support.kafka_process import class_path
from tests.support.ottla_process import ottla
from tests.support.patience import PATIENCE_SECONDS

_PROGRAMS: Final = Path(__file__).parent / "programs"


@pytest.mark.skipif(missing_java() is not None, reason=str(missing_java()))
@pytest.mark.parametrize(("assignor", "given_up"), [("RangeAssignor", 6), ("CooperativeStickyAssignor", 3)])
def test_two_java_consumers_share(
    assignor: str, given_up: int, bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    """Ana has all six partitions, Bo comes and has three, each record is read, Bo leaves, and at last both are gone.

    When Bo comes an eager Ana gives up all she has, a cooperative one only what Bo will get. What was read is
    committed by whoever read it, and the group stays behind without members.
    """
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
         "-cp", class_path(), _PROGRAMS / "TwoMembers.java", bootstrap, make_topic(partitions=6), group,
         f"org.apache.kafka.clients.consumer.{assignor}"],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "ana has all",
        "both have half",
        f"ana gave up {given_up}",
        "all is read",
        "ana has all again",
        "group is Empty with 0",
        "committed 60",
    ], done.stderr
    assert done.returncode == 0


def copies(bootstrap: str, *arguments: str, epoch: str) -> None:
    """Run the program that copies a topic, and look at what it says; `epoch` is what becomes of the producer's."""
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
         "-cp", class_path(), _PROGRAMS / "Copier.java", bootstrap, *arguments],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "committed 40",
        epoch,
        "copied exactly once",
        "open: Ongoing with 1",
        "ana is fenced",
        "closed: CompleteCommit with 0",
        "listed: Ongoing",
        "ended by hand",
        "cy is fenced",
    ], done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(missing_java() is not None, reason=str(missing_java()))
def test_a_java_producer_copies_exactly_once(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    """Records and offsets in transactions, half of them aborted; then it is fenced, and one that hangs is ended."""
    copies(bootstrap, make_topic(), make_topic(), group, unique_name("tx"), epoch="epoch counts transactions")


@pytest.mark.own_broker
@pytest.mark.skipif(missing_java() is not None, reason=str(missing_java()))
@pytest.mark.parametrize("version", [0, 1])
def test_a_java_producer_without_transactions_of_version_2(version: int) -> None:
    """It adds partitions by itself then, and its epoch stays."""
    settings = {"offsets.topic.num.partitions": "5", "ottla.transaction.version": str(version)}
    with ottla(settings) as broker, Backstage(broker.bootstrap) as behind:
        for topic in ("source", "target"):
            behind.create_topic(topic)
        copies(broker.bootstrap, "source", "target", "group", "tx", epoch="epoch stays")

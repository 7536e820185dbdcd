"""Apache Kafka's own consumer, in Java: the client whose habits the coordinator was written for.

It comes with the jars that the comparison with Kafka fetches, and is run from its source by `java`; where either is
missing the tests are skipped and say so. One small story, for eager and cooperative members; what the other libraries
play in many tests stands beside this file.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.clients.conftest import MakeTopic
from tests.support.kafka_process import class_path, missing_tools

_PROGRAM: Final = Path(__file__).parent / "programs" / "TwoMembers.java"
_SECONDS_MAX: Final = 90.0


def missing() -> str | None:
    """Why no Java client can run here, in one line, or None."""
    if shutil.which("javac") is None:
        return "the Java client is run from its source, which needs a JDK; there is no `javac` on the PATH"
    return missing_tools()


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
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
         "-cp", class_path(), _PROGRAM, bootstrap, make_topic(partitions=6), group,
         f"org.apache.kafka.clients.consumer.{assignor}"],
        capture_output=True, text=True, check=False, timeout=_SECONDS_MAX,
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

"""Kafka's own kafka-transactions.sh, with Ottla and with a real Kafka: it says the same of both, word by word.

It is run from the jars that the comparison of `ottla log dump` has, all commands in one JVM.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.cli.terminal import serving
from tests.cli.test_transactions import SETTINGS, Stage
from tests.support.client import Client
from tests.support.kafka_process import TOOL_JARS, kafka, missing_tools
from tests.support.patience import PATIENCE_SECONDS

_COMMANDS: Final = (
    "list",
    "list --transactional-id-pattern o.*",
    "list --transactional-id-pattern o",
    "list --transactional-id-pattern (",
    "list --duration-filter 3600000",
    "describe --transactional-id open",
    "describe --transactional-id absent",
    "describe-producers --topic orders --partition 1",
    "describe-producers --topic orders --partition 1 --broker-id 1",
    "find-hanging --topic orders",
    "find-hanging --broker-id 1 --max-transaction-timeout 100000000",
    "find-hanging",
    "abort --topic orders --partition 1",
    "abort --topic orders --partition 1 --start-offset 4",
    "abort --topic orders --partition 1 --producer-id 4000 --producer-epoch 2 --coordinator-epoch 0",
    "abort --topic orders --partition 1 --start-offset 5",
    "describe-producers --topic orders --partition 1",
    "find-hanging --topic orders --partition 1",
    "forceTerminateTransaction --transactionalId open",
    "describe --transactional-id open",
    "list",
)
#: What differs from one moment to the next, and the padding that goes with it.
_VARYING: Final = (
    (r"\b1[78]\d{11}\b", "NOW"),
    (r"(\tNOW +\t)\d+", r"\1AGE"),
    (r"(\t1600000000000\t)\d{6,}", r"\1AGE"),
    (r"[ \t]+", " "),
    (r" \n", "\n"),
)
#: What it says of Kafka 4.4.
_SAID: Final = Path(__file__).with_name("transactions_tool.txt")


def missing() -> str | None:
    """Why the tool can't run here, in one line, or None."""
    if shutil.which("javac") is None:
        return "Kafka's tool is run by a program from its source, which needs a JDK; no `javac` is on the PATH"
    return missing_tools(TOOL_JARS)


def told(bootstrap: str) -> str:
    """What the tool says of a broker that has all that `Stage` has."""
    with Client(bootstrap, client_id="ana") as client:
        stage = Stage(bootstrap, client)
        done = subprocess.run(
            ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
             "-cp", TOOL_JARS.class_path(), Path(__file__).with_name("TransactionsTool.java"),
             *(f"--bootstrap-server {bootstrap} {command}" for command in _COMMANDS)],
            capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert stage.last_stable_offset(1) == stage.start_offset + 2
    said = done.stdout
    for pattern, instead in _VARYING:
        said = re.sub(pattern, instead, said)
    return said


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_kafkas_tool_works_with_ottla() -> None:
    """All of its commands, their errors too."""
    settings = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    with serving(*settings) as broker:
        assert told(broker.bootstrap) == _SAID.read_text()


@pytest.mark.skipif((missing() or missing_tools()) is not None, reason=str(missing() or missing_tools()))
def test_of_kafka_it_says_the_same() -> None:
    """What stands beside this file is what it says of a fresh Kafka."""
    with kafka(SETTINGS) as broker:
        assert told(broker.bootstrap) == _SAID.read_text()

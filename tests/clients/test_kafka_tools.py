"""The programs by which Kafka's own system tests prove that nothing is lost or doubled, from its jars.

VerifiableProducer writes numbers, TransactionalMessageCopier copies them in transactions and aborts some of them, and
VerifiableConsumer tells what it reads.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.conftest import MakeTopic, unique_name
from tests.clients.java import java_process, missing_java
from tests.support.kafka_process import TOOL_JARS
from tests.support.patience import PATIENCE_SECONDS

MESSAGES: Final = 2_000
_TOOLS: Final = "org.apache.kafka.tools"

pytestmark = pytest.mark.skipif(missing_java(TOOL_JARS) is not None, reason=str(missing_java(TOOL_JARS)))


def told(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What a tool says, line by line."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def produce(bootstrap: str, topic: str) -> list[str]:
    """Have the producer write, and return the values that it says are there."""
    arguments = ("--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", str(MESSAGES))
    with java_process(f"{_TOOLS}.VerifiableProducer", *arguments, jars=TOOL_JARS) as producer:
        sent = [event["value"] for event in told(producer) if event["name"] == "producer_send_success"]
        assert producer.wait(PATIENCE_SECONDS) == 0
    return sent


def copy(bootstrap: str, source: str, target: str, group: str, transactional_id: str, *, until: int) -> int:
    """Have the copier copy, and kill it when it has `until` messages left to copy; returns how many it had then."""
    arguments = (
        "--broker-list", bootstrap, "--input-topic", source, "--input-partition", "0", "--output-topic", target,
        "--consumer-group", group, "--transactional-id", transactional_id, "--transaction-size", "20",
        "--enable-random-aborts", "--use-group-metadata",
    )  # fmt: skip
    left = MESSAGES
    with java_process(f"{_TOOLS}.TransactionalMessageCopier", *arguments, jars=TOOL_JARS) as copier:
        for status in told(copier):
            left = int(status["remaining"])
            if until and left <= until:
                copier.kill()
                return left
        assert copier.wait(PATIENCE_SECONDS) == 0, "the copier has failed"
    return left


def consume(bootstrap: str, topic: str, group: str, directory: Path) -> list[str]:
    """What the consumer reads of committed records."""
    settings = directory / "consumer.properties"
    settings.write_text("isolation.level=read_committed\n")
    arguments = (
        "--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group, "--max-messages", str(MESSAGES),
        "--verbose", "--command-config", settings,
    )  # fmt: skip
    with java_process(f"{_TOOLS}.VerifiableConsumer", *arguments, jars=TOOL_JARS) as consumer:
        read = [event["value"] for event in told(consumer) if event["name"] == "record_data"]
        assert consumer.wait(PATIENCE_SECONDS) == 0
    return read


def test_a_copier_that_aborts_and_is_killed_copies_exactly_once(
    bootstrap: str, make_topic: MakeTopic, group: str, tmp_path: Path
) -> None:
    """Its successor has the same transactional id, and goes on with what was committed."""
    source, target, transactional_id = make_topic(), make_topic(), unique_name("tx")
    sent = produce(bootstrap, source)
    assert sent == [str(number) for number in range(MESSAGES)]
    left = copy(bootstrap, source, target, group, transactional_id, until=MESSAGES // 2)
    assert 0 < left < MESSAGES
    assert copy(bootstrap, source, target, group, transactional_id, until=0) == 0
    assert consume(bootstrap, target, unique_name("group"), tmp_path) == sent

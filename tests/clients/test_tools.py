"""What AKHQ and Kafka UI ask of a cluster before they show it, by Java's AdminClient and in their order.

Their own sources say which calls these are; `programs/ToolCalls.java` makes them. What is answered is what Kafka 4.4
answers: `OTTLA_BOOTSTRAP=host:port make clients` plays the same against one.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.clients.conftest import MakeTopic
from tests.clients.java import missing_java
from tests.support.backstage import Backstage
from tests.support.kafka_process import BROKER_JARS
from tests.support.patience import PATIENCE_SECONDS

_PROGRAM: Final = Path(__file__).parent / "programs" / "ToolCalls.java"


@pytest.mark.skipif(missing_java() is not None, reason=str(missing_java()))
def test_tools_find_what_they_ask_for_when_they_start(
    bootstrap: str, backstage: Backstage, make_topic: MakeTopic, group: str
) -> None:
    """All of it but access rules, of which they are told that there are none."""
    topic = make_topic(partitions=2, **{"retention.ms": "-1"})  # the record is old
    backstage.produce(topic)
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
         "-cp", BROKER_JARS.class_path(), _PROGRAM, bootstrap, topic, group],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "AKHQ",
        "cluster: true",
        "topics: [internal, ordinary]",
        "topic: [1/1, 1/1]",
        "offsets: [0 to 1, none to 0]",
        "groups: [Empty true]",
        "group: Empty []",
        "committed: [0: 1]",
        "directories: 1 node, [0 full, 1 empty]",
        "topic's configs: true",
        "all ACLs: SecurityDisabledException",
        "topic's ACLs: SecurityDisabledException",
        "Kafka UI",
        "deletion: true",
        "features: true",
        "all ACLs: SecurityDisabledException",
        "rights: [CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE]",
        "directories: 1 node, [0 full, 1 empty]",
        "topics: true",
        "topics' configs: true",
        "offsets: 1",
        "offsets: 0",
        "committed: [0: 1]",
        "quorum: true",
        "broker's configs: true",
        "producers: []",
        "quotas: {}",
        "new ACL: SecurityDisabledException",
        "no ACL: SecurityDisabledException",
        "reassignments: {}",
    ], done.stderr
    assert done.returncode == 0

"""The admin calls that tools make first, by the libraries that have them, on a cluster of three nodes.

librdkafka has one of them, DescribeUserScramCredentials; aiokafka and kafka-python 2 have none.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ottla.cluster.log_dirs import MEMORY
from ottla.protocol.errors import ErrorCode
from tests.clients.client_process import ClientProcess, refused
from tests.clients.conftest import SETTINGS, starter, unique_name
from tests.clients.java import missing_java
from tests.clients.libraries import CONFLUENT, KAFKA_PYTHON, Library, name_of
from tests.support.kafka_process import BROKER_JARS
from tests.support.patience import PATIENCE_SECONDS
from tests.support.running_broker import RunningBroker

pytestmark = pytest.mark.own_broker

_PROGRAM: Final = Path(__file__).parent / "programs" / "AdminCalls.java"


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with RunningBroker(settings=SETTINGS, nodes=3) as broker:
        yield broker


@pytest.fixture(scope="module")
def ana(broker: RunningBroker) -> Iterator[ClientProcess]:
    """kafka-python, of which all but one of these calls are."""
    with starter(broker.bootstrap) as start:
        yield start(KAFKA_PYTHON, "ana")


def test_partition_goes_to_other_nodes(ana: ClientProcess) -> None:
    """It is there when the answer is, so nothing can be taken back. To nodes that there are not it does not go."""
    topic = unique_name("topic")
    ana.create_topic(topic=topic)
    ana.send(topic, b"0")
    ana.reassign(topic=topic, partition=0, nodes=[3, 2])
    assert ana.reassignments() == []
    assert ana.replicas(topic=topic) == [[3, 2]]
    ana.send(topic, b"1")
    ana.assign((topic, 0))
    ana.until(lambda: ana.values == [b"0", b"1"], "what was written before and after is read")
    with refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS):
        ana.reassign(topic=topic, partition=0, nodes=None)
    with refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT):
        ana.reassign(topic=topic, partition=0, nodes=[4])
    with refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        ana.reassign(topic=topic, partition=1, nodes=[1])


def test_quorum_is_that_of_the_nodes(ana: ClientProcess) -> None:
    assert ana.quorum() == {"leader": 1, "voters": [1, 2, 3]}


def test_what_has_configs_is_listed(ana: ClientProcess) -> None:
    topic = unique_name("topic")
    ana.create_topic(topic=topic)
    found = ana.config_resources()
    assert found["broker"] == found["broker_logger"] == ["1", "2", "3"]
    assert topic in found["topic"]


def test_metadata_version_stays(ana: ClientProcess) -> None:
    assert ana.feature(name="metadata.version") == [7, 33, 33]
    ana.set_feature(name="metadata.version", level=33)
    for level in (32, 34):
        with refused(ErrorCode.INVALID_UPDATE_VERSION):
            ana.set_feature(name="metadata.version", level=level)
    assert ana.feature(name="metadata.version") == [7, 33, 33]


def test_replica_is_where_it_is(ana: ClientProcess) -> None:
    topic = unique_name("topic")
    ana.create_topic(topic=topic)
    ((node,),) = ana.replicas(topic=topic)
    ana.move_replica(topic=topic, partition=0, node=node, directory=MEMORY)
    with refused(ErrorCode.LOG_DIR_NOT_FOUND):
        ana.move_replica(topic=topic, partition=0, node=node, directory="/elsewhere")


@pytest.mark.parametrize("library", [KAFKA_PYTHON, CONFLUENT], ids=name_of)
def test_nobody_has_a_password(broker: RunningBroker, library: Library) -> None:
    with starter(broker.bootstrap) as start:
        client = start(library, "bo")
        assert client.users() == {}
        with refused(ErrorCode.RESOURCE_NOT_FOUND):
            client.users(name="ana")


@pytest.mark.skipif(missing_java() is not None, reason=str(missing_java()))
def test_java_admin_client_makes_them_all(broker: RunningBroker) -> None:
    topic = unique_name("topic")
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
         "-cp", BROKER_JARS.class_path(), _PROGRAM, broker.bootstrap, topic],
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "on their way {}",
        "on [3, 2] led by 3",
        "taken back: NoReassignmentInProgressException",
        "to nobody: InvalidReplicaAssignmentException",
        "quorum led by 1 of [1, 2, 3]",
        "metadata.version 33",
        "metadata.version 0: done",
        "metadata.version -1: InvalidUpdateVersionException",
        "metadata.version 1: InvalidUpdateVersionException",
        "configs of 3 nodes",
        "configs of the topic: true",
        "metrics of []",
        "passwords of []",
        "quotas of {}",
        "moved where it is: done",
        "moved elsewhere: LogDirNotFoundException",
    ], done.stderr
    assert done.returncode == 0

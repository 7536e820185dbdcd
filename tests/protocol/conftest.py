"""For the tests of the codec: Kafka's own classes, where Java is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.protocol.peers.kafka import KafkaCodec, kafka_codec
from tests.support.kafka_process import KafkaStartError, class_path, missing_tools


@pytest.fixture(scope="session")
def kafka_class_path() -> str:
    """Where Java finds Apache Kafka; without Java, or Maven to fetch the jars, the test is skipped."""
    reason = missing_tools()
    if reason is not None:
        pytest.skip(reason)
    modules = subprocess.run(["java", "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler" not in modules:
        pytest.skip("the programs that ask Apache Kafka are Java sources, and this `java` has no compiler")
    try:
        return class_path()
    except KafkaStartError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def apache_kafka(kafka_class_path: str) -> Iterator[KafkaCodec]:
    """Apache Kafka's generated classes."""
    with kafka_codec(kafka_class_path) as codec:
        yield codec

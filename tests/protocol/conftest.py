"""For the tests of the codec: Kafka's own, where Java is, and how many examples a version gets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.protocol.peers.kafka import KafkaCodec, kafka_codec
from tests.support.kafka_process import KafkaStartError, class_path, missing_tools


@pytest.fixture(scope="session")
def apache_kafka() -> Iterator[KafkaCodec]:
    """Apache Kafka's generated classes; without Java, or Maven to fetch them, the test is skipped."""
    reason = missing_tools()
    if reason is not None:
        pytest.skip(reason)
    try:
        class_path()
    except KafkaStartError as error:
        pytest.skip(str(error))
    with kafka_codec() as codec:
        yield codec

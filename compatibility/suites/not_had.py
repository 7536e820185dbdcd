"""Public suites that were looked for and are not run, with the reason: that too is a result."""

from __future__ import annotations

from typing import Final

#: (suite, why)
NOT_HAD: Final = (
    ("aiokafka", "its source archive carries no tests, and they start Kafka in Docker"),
    ("confluent-kafka-python", "its source archive carries no tests"),
    ("sarama", "its functional tests need five nodes behind Toxiproxy, and stop and start some of them with Docker"),
    ("kafkajs", "its package carries no tests"),
    ("librdkafka", "its tests are in no registry's package"),
    ("Apache Kafka's own integration tests", "they start brokers in their own process, and can't be given an address"),
)

"""Public suites that are not run, with the reason: that too is a result."""

from __future__ import annotations

from typing import Final

#: (suite, why)
NOT_HAD: Final = (
    ("aiokafka", "its source archive carries no tests"),
    ("confluent-kafka-python", "its source archive carries no tests"),
    (
        "sarama",
        "its functional tests need five nodes behind Toxiproxy, and stop and start some of them with Docker. They were "
        "tried by hand with Ottla alone, and not beside Kafka, so nothing is counted",
    ),
    ("kafkajs", "its package carries no tests that need a broker"),
    ("librdkafka", "not tried"),
    ("Apache Kafka's own integration tests", "not tried"),
)

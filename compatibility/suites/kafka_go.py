"""kafka-go's client, of Segment: low-level requests, readers, writers, groups."""

from __future__ import annotations

from typing import Final

from compatibility.suites.golang import GoSuite
from compatibility.suites.suite import AUTHORIZER

KAFKA_GO: Final = GoSuite(
    name="kafka-go",
    version="v0.4.51",
    module="github.com/segmentio/kafka-go",
    package=".",
    scope="its main package, without a listener for SASL and without a second node",
    settings={"message.max.bytes": "200000000", "auto.create.topics.enable": "true"},
    settings_of_kafka=AUTHORIZER,
    variables={"KAFKA_VERSION": "4.4.0", "KAFKA_SKIP_NETTEST": "1"},
)

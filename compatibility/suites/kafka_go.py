"""kafka-go's client, of Segment: low-level requests, readers, writers, groups."""

from __future__ import annotations

from typing import Final

from compatibility.suites.golang import GoSuite

KAFKA_GO: Final = GoSuite(
    name="kafka-go",
    version="v0.4.51",
    module="github.com/segmentio/kafka-go",
    package=".",
    scope="its main package; for SASL, an authorizer and a second node it asks in vain, with both brokers",
    settings={"message.max.bytes": "200000000", "auto.create.topics.enable": "true"},
    variables={"KAFKA_VERSION": "4.4.0", "KAFKA_SKIP_NETTEST": "1"},
)

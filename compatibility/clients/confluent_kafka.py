"""confluent-kafka for Python: librdkafka, which comes in its wheel."""

from __future__ import annotations

from typing import Final

from compatibility.clients.python import PythonLibrary

CONFLUENT_KAFKA: Final = PythonLibrary(
    "confluent-kafka",
    versions=("2.3.0", "2.8.2", "2.12.2", "2.16.1"),
    program="confluent",
    since={"new groups": "2.4.0"},
)

"""The client libraries, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compatibility.clients.aiokafka import AIOKAFKA
from compatibility.clients.client import Client, Installed, InstallError, has
from compatibility.clients.confluent_kafka import CONFLUENT_KAFKA
from compatibility.clients.go import FRANZ_GO, KAFKA_GO, SARAMA
from compatibility.clients.java import KAFKA_CLIENTS
from compatibility.clients.kafka_python import KAFKA_PYTHON
from compatibility.clients.node import KAFKAJS, PLATFORMATIC

__all__ = ["CLIENTS", "Client", "InstallError", "Installed", "has"]

CLIENTS: Final[Sequence[Client]] = (
    KAFKA_CLIENTS,
    KAFKA_PYTHON,
    CONFLUENT_KAFKA,
    AIOKAFKA,
    FRANZ_GO,
    SARAMA,
    KAFKA_GO,
    KAFKAJS,
    PLATFORMATIC,
)

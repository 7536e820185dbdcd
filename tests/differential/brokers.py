"""Ottla and Kafka for the comparison: started with the same settings, and warm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ottla.conformance.settings import SETTINGS
from ottla.conformance.warming import load_coordinators
from tests.support.kafka_process import kafka
from tests.support.ottla_process import ottla


@contextmanager
def warm_kafka() -> Iterator[str]:
    """A Kafka with these settings, its coordinators loaded; yields its bootstrap address."""
    with kafka(SETTINGS) as broker:
        load_coordinators(broker.bootstrap)
        yield broker.bootstrap


@contextmanager
def warm_ottla() -> Iterator[str]:
    """An Ottla with the same settings."""
    with ottla({"node.id": "1", **SETTINGS}) as broker:
        load_coordinators(broker.bootstrap)
        yield broker.bootstrap

"""A kitchen, and cooks for it: `confluent_cook("ana")` comes to work, and goes home at the end of the story."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeAlias

import pytest

from ottla.testing import Broker
from ottla.testing.groups import AsyncGroup, Group
from tests.stories.told_by_users.cooks import AiokafkaCook, ConfluentCook, KafkaPythonCook

HireConfluent: TypeAlias = Callable[..., ConfluentCook]
HireKafkaPython: TypeAlias = Callable[..., KafkaPythonCook]
HireAiokafka: TypeAlias = Callable[..., AiokafkaCook]


@pytest.fixture
def kitchen(kafka: Broker) -> Group:
    """The group, and three partitions of orders for it."""
    kafka.topic("orders").create(partitions=3)
    return kafka.group("kitchen")


@pytest.fixture
def aio_kitchen(kafka: Broker, kitchen: Group) -> AsyncGroup:
    """The same, and its waits are awaited."""
    return kafka.aio.group(kitchen.group_id)


@pytest.fixture
def confluent_cook(kafka: Broker) -> Iterator[HireConfluent]:
    """Hires one who works with confluent-kafka."""
    hired: list[ConfluentCook] = []

    def hire(name: str, topic: str = "orders", **settings: Any) -> ConfluentCook:
        words = {word.replace("_", "."): value for word, value in settings.items()}
        hired.append(ConfluentCook(kafka.bootstrap_servers, name, topic, words))
        return hired[-1]

    yield hire
    for cook in hired:
        cook.go_home()


@pytest.fixture
def kafka_python_cook(kafka: Broker) -> Iterator[HireKafkaPython]:
    """Hires one who works with kafka-python."""
    hired: list[KafkaPythonCook] = []

    def hire(name: str, topic: str = "orders", **settings: Any) -> KafkaPythonCook:
        hired.append(KafkaPythonCook(kafka.bootstrap_servers, name, topic, settings))
        return hired[-1]

    yield hire
    while hired:
        hired.pop().go_home()
    # It leaves behind a socket that was being connected when it was closed.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()


@pytest.fixture
async def aiokafka_cook(kafka: Broker) -> AsyncIterator[HireAiokafka]:
    """Hires one who works with aiokafka, in the event loop of the test."""
    hired: list[AiokafkaCook] = []

    def hire(name: str, topic: str = "orders", **settings: Any) -> AiokafkaCook:
        hired.append(AiokafkaCook(kafka.bootstrap_servers, name, topic, settings))
        return hired[-1]

    yield hire
    for cook in hired:
        await cook.go_home()

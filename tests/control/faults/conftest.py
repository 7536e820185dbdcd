"""One broker for all tests of a module, without faults at the beginning of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.purgatory import VirtualClock
from tests.control.faults.scene import create, faults_of, find
from tests.support.client import Client
from tests.support.running_broker import RunningBroker


@pytest.fixture(scope="module")
def shared_broker() -> Iterator[RunningBroker]:
    """Two nodes on a clock that stands still, a coordinator, and the topics orders and payments."""
    with RunningBroker(clock=VirtualClock(), nodes=2, settings={"offsets.topic.num.partitions": 4}) as broker:
        with Client(broker.bootstrap) as client:
            create(client, "orders", "payments")
            find(client)
        yield broker


@pytest.fixture
def broker(shared_broker: RunningBroker) -> Iterator[RunningBroker]:
    """In which nothing goes wrong at first."""
    yield shared_broker
    faults = faults_of(shared_broker)
    shared_broker.look(faults.clear)


@pytest.fixture
def client(broker: RunningBroker) -> Iterator[Client]:
    """Of the first node, by the name of ana."""
    with Client(broker.bootstrap, client_id="ana") as client:
        yield client

"""For tests with real clients: the broker they meet, and the clients' processes.

Without further ado one `ottla serve` answers them all, each test with topics and groups of its own. With
`OTTLA_BOOTSTRAP=host:port` the same tests run against any broker, a real Kafka too, which keeps them honest. Tests that
need a broker set up in a certain way start their own; they are marked `own_broker` and skipped then.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.clients.client_process import ClientProcess
from tests.clients.libraries import Library
from tests.support.backstage import Backstage
from tests.support.ottla_process import ottla

#: What the broker that is started here has been told. Its sessions may be short, for tests that wait for their end.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": "5",
}
#: Short for a person, and yet long enough for a busy machine.
SESSION_TIMEOUT_MS_SHORT = 1_500

Start = Callable[..., ClientProcess]
MakeTopic = Callable[..., str]
SharedClients = dict[Library, ClientProcess]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("OTTLA_BOOTSTRAP"):
        return
    for item in items:
        if item.get_closest_marker("own_broker"):
            item.add_marker(pytest.mark.skip(reason="needs a broker of its own; OTTLA_BOOTSTRAP names another"))


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """Where clients find the broker, as host:port."""
    given = os.environ.get("OTTLA_BOOTSTRAP")
    if given:
        yield given
        return
    with ottla(SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def backstage(bootstrap: str) -> Iterator[Backstage]:
    """What the tests themselves have to do with the broker."""
    with Backstage(bootstrap) as behind:
        yield behind


@pytest.fixture(scope="session")
def short_session_timeout_ms(backstage: Backstage) -> int:
    """The shortest session that this broker allows a member, if that isn't too short for the tests."""
    return max(SESSION_TIMEOUT_MS_SHORT, int(backstage.broker_config("group.min.session.timeout.ms")))


_RUN = f"{time.time_ns() // 1_000_000:x}"
_numbers = itertools.count(1)


def unique_name(stem: str) -> str:
    """A name that no other test and no other run has."""
    return f"{stem}-{_RUN}-{next(_numbers)}"


@pytest.fixture
def group() -> str:
    """The name of a group that is not there yet."""
    return unique_name("group")


@pytest.fixture
def make_topic(backstage: Backstage) -> MakeTopic:
    """Makes a topic: `make_topic(partitions=3, **{"retention.ms": "5"})`."""

    def make(partitions: int = 1, **configs: str) -> str:
        topic = unique_name("topic")
        backstage.create_topic(topic, partitions=partitions, configs=configs)
        return topic

    return make


@pytest.fixture(scope="session")
def shared_clients(bootstrap: str) -> Iterator[SharedClients]:
    """One process of each library that was needed, for what needs no process of its own."""
    clients: SharedClients = {}
    yield clients
    for client in clients.values():
        client.end()


def shared(library: Library, bootstrap: str, clients: SharedClients) -> ClientProcess:
    """The process of this library that all may use; started when it is first needed."""
    if library not in clients or not clients[library].is_running:
        clients[library] = _start(library, bootstrap, library.name)
    return clients[library]


@pytest.fixture
def client(library: Library, bootstrap: str, shared_clients: SharedClients) -> Iterator[ClientProcess]:
    """The library the test is run for. Tests that kill or freeze clients `start` some of their own."""
    client = shared(library, bootstrap, shared_clients)
    yield client
    if client.is_consuming and client.is_running:
        client.close()
    client.forget()


@pytest.fixture
def start(bootstrap: str) -> Iterator[Start]:
    """Starts a client in a process of its own: `start(library, "ana")`."""
    with starter(bootstrap) as start:
        yield start


@contextmanager
def starter(bootstrap: str) -> Iterator[Start]:
    """What `start` is; the clients that it starts are gone at the end."""
    started: list[ClientProcess] = []

    def start(library: Library, client_id: str) -> ClientProcess:
        client = _start(library, bootstrap, client_id)
        started.append(client)
        return client

    try:
        yield start
    finally:
        for client in started:
            client.end()


def _start(library: Library, bootstrap: str, client_id: str) -> ClientProcess:
    if missing := library.missing():
        pytest.skip(missing)
    return ClientProcess(library, bootstrap, client_id)

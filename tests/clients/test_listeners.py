"""Clients inside and outside a network use one cluster at the same time, each by addresses that it can reach."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.broker.network.connection import Connection
from tests.clients.client_process import Message
from tests.clients.conftest import SETTINGS, starter, unique_name
from tests.clients.libraries import LIBRARIES, Library, name_of
from tests.support.running_broker import RunningBroker

pytestmark = pytest.mark.own_broker


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """Two nodes. INTERNAL is on every interface, and its clients are told 127.0.0.2; HOST is on 127.0.0.1 alone."""
    listen = ["INTERNAL://0.0.0.0:0", "HOST://127.0.0.1:0"]
    settings = {**SETTINGS, "num.partitions": 2}
    with RunningBroker(settings=settings, nodes=2, listen=listen, advertise=["INTERNAL://127.0.0.2:0"]) as broker:
        yield broker


def connections(broker: RunningBroker, listener_name: str) -> list[Connection]:
    """Those of all nodes, on this listener."""
    return [
        connection
        for listener in broker.server.sockets.listeners
        for connection in listener.connections
        if listener.name == listener_name
    ]


@pytest.mark.parametrize("library", LIBRARIES, ids=name_of)
def test_each_client_stays_on_the_listener_it_came_to(broker: RunningBroker, library: Library) -> None:
    """Ana writes and reads inside, on both nodes; Bo reads outside, in a group. Neither uses the other's listener."""
    topic = unique_name("topic")
    inside = broker.bootstrap_on(1, "INTERNAL").replace("0.0.0.0", "127.0.0.2")
    with starter(inside) as start_inside, starter(broker.bootstrap_on(2, "HOST")) as start_outside:
        ana = start_inside(library, "ana")
        stored = ana.send(topic, Message(b"0", partition=0), Message(b"1", partition=1))
        assert sorted(stored) == [(0, 0), (1, 0)]
        ana.assign((topic, 0), (topic, 1))
        ana.until(lambda: sorted(filter(None, ana.values)) == [b"0", b"1"], "both messages are read inside")
        assert broker.look(lambda: connections(broker, "INTERNAL"))
        assert not broker.look(lambda: connections(broker, "HOST"))
        bo = start_outside(library, "bo")
        bo.subscribe(group=unique_name("group"), topics=[topic])
        bo.until(lambda: sorted(filter(None, bo.values)) == [b"0", b"1"], "both messages are read outside")
        ana.kill()
        broker.wait_until("nobody is inside", lambda: not connections(broker, "INTERNAL"))
        assert broker.look(lambda: connections(broker, "HOST"))
        bo.kill()
        broker.wait_until("nobody is left", lambda: not connections(broker, "HOST"))

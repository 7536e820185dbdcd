"""Ten thousand clients that connect and say nothing."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.terminal import Serving, serving, until
from tests.pressure.stage import counters, is_served, memory_mib
from tests.support.client import Client
from tests.support.wire import Connection

COUNT: Final = 10_000
#: Files that a process has open besides.
OTHERS: Final = 500


@pytest.fixture
def many_files() -> Iterator[None]:
    """As many open files as the machine lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < COUNT + OTHERS:
        pytest.skip(f"this machine lets a process open {hard} files; {COUNT + OTHERS} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (COUNT + OTHERS if hard == resource.RLIM_INFINITY else hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connections(broker: Serving) -> int:
    """How many clients the broker says it has."""
    count: int = counters(broker)["connections"]["1"]
    return count


def open_files(broker: Serving) -> int:
    return len(list(Path(f"/proc/{broker.process.pid}/fd").iterdir()))


@pytest.mark.usefixtures("many_files")
def test_ten_thousand_idle_clients_cost_what_their_sockets_cost() -> None:
    """A few kilobytes each. Another client is served meanwhile; when they go, files and memory are given back."""
    with serving("--control", "127.0.0.1:0") as broker, Client(broker.bootstrap) as bo:
        assert is_served(bo)
        assert connections(broker) == 1
        files, before_mib = open_files(broker), memory_mib(broker.process.pid)
        idle = [Connection(broker.bootstrap) for _ in range(COUNT)]
        until(lambda: connections(broker) == COUNT + 1, "all are connected")
        for _ in range(100):
            assert is_served(bo)
        assert memory_mib(broker.process.pid) - before_mib < 100
        for connection in idle:
            connection.reset()  # an orderly end would keep ten thousand ports from others for a minute
        until(lambda: connections(broker) == 1, "all are gone")
        assert is_served(bo)
        until(lambda: open_files(broker) <= files, "their files are closed")
        assert memory_mib(broker.process.pid) - before_mib < 40

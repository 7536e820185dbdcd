"""The pytest plugin: a `kafka` fixture, set up by the `kafka` marker.

    @pytest.mark.kafka(nodes=3, settings={"num.partitions": 6})    # without it: one node, defaults
    def test_orders_are_counted(kafka):
        service = Service(bootstrap_servers=kafka.bootstrap_servers)

Every test gets a broker of its own: one is up in a few milliseconds, and nothing is left over from the test before.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing.broker import Broker

_MARKER = """\
kafka(nodes=1, clock="system", settings={}): the broker behind the `kafka` fixture. \
nodes: brokers in the cluster; clock: "virtual" has time stand still until kafka.advance(ms); \
settings: broker settings by Kafka's names."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A fault that has not fired when the test is at its end fails the test."""
    result = yield
    module = sys.modules.get("ottla.testing.broker")
    if module is not None:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, module.Broker) and value.is_running:
                value.check_faults()
    return result


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A running broker of the test's own; `kafka.bootstrap_servers` is what clients need."""
    from ottla.testing.broker import Broker

    marker = request.node.get_closest_marker("kafka")
    with Broker(*marker.args, **marker.kwargs) if marker else Broker() as broker:
        yield broker

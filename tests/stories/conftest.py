"""For the stories told over TCP: a group on a broker, its actors, and time that passes when the story says so.

Stories in which no time passes can be told of any broker: `OTTLA_BOOTSTRAP=host:port`. The others are marked
`own_broker`: theirs has a clock that stands still until they move it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.testing import Broker
from tests.clients.conftest import (  # noqa: F401 - fixtures and a hook
    Start,
    bootstrap,
    group,
    pytest_collection_modifyitems,
    starter,
)
from tests.stories.actors import Actor, Stage


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker of the story's own, whose time stands still until `advance`."""
    marker = request.node.get_closest_marker("own_broker")
    with Broker(clock="virtual", **marker.kwargs) as running:
        yield running


@pytest.fixture
def stage(request: pytest.FixtureRequest, group: str) -> Iterator[Stage]:  # noqa: F811 - the fixture of this name
    """A new group: on the story's own broker if it has one."""
    own = request.node.get_closest_marker("own_broker")
    address = request.getfixturevalue("broker").bootstrap_servers if own else request.getfixturevalue("bootstrap")
    made = Stage(address, group)
    yield made
    made.close()


@pytest.fixture
def start(stage: Stage) -> Iterator[Start]:
    """Starts a real client of the broker where the stage is: `start(library, "ana")`."""
    with starter(stage.bootstrap) as start:
        yield start


@pytest.fixture
def ana(stage: Stage) -> Actor:
    return stage.actor("ana")


@pytest.fixture
def bo(stage: Stage) -> Actor:
    return stage.actor("bo")


@pytest.fixture
def cy(stage: Stage) -> Actor:
    return stage.actor("cy")

"""For the stories told over TCP by actors: a group that nobody is in yet, of any broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.conftest import (  # noqa: F401 - fixtures and a hook
    backstage,
    bootstrap,
    group,
    make_topic,
    pytest_collection_modifyitems,
    start,
)
from tests.stories.actors import Actor, Stage


@pytest.fixture
def stage(bootstrap: str, group: str) -> Iterator[Stage]:  # noqa: F811 - the fixtures of these names
    made = Stage(bootstrap, group)
    yield made
    made.close()


@pytest.fixture
def ana(stage: Stage) -> Actor:
    return stage.actor("ana")


@pytest.fixture
def bo(stage: Stage) -> Actor:
    return stage.actor("bo")

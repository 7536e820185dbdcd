"""Who appears in most tests."""

from __future__ import annotations

import pytest

from tests.coordinator.actors import Actor


@pytest.fixture
def ana() -> Actor:
    return Actor("ana")


@pytest.fixture
def bo() -> Actor:
    return Actor("bo")


@pytest.fixture
def cy() -> Actor:
    return Actor("cy")

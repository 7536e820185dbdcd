"""What the tests of the codec share: every message and version as a case, and how many examples each gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import settings

from tests.protocol.strategies import Kind, kinds, kinds_and_versions

#: There are some six hundred messages and versions, so each gets a share of the profile's examples.
few_examples: Final = settings(max_examples=max(3, settings().max_examples // 16))


every_kind: Final = pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)


def every(knows: Callable[[Kind, int], bool] = lambda kind, version: True) -> pytest.MarkDecorator:
    """Once for each message and version that `knows` says yes to."""
    pairs = [(kind, version) for kind, version in kinds_and_versions() if knows(kind, version)]
    return pytest.mark.parametrize(("kind", "version"), pairs, ids=[f"{k.__name__}-v{v}" for k, v in pairs])

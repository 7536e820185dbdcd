"""Where the machines of a test are, and by which seed they lose their power."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

SEED: Final = int(os.environ.get("OTTLA_SEED") or 1)


@pytest.fixture
def directory() -> Iterator[Path]:
    """An empty one in memory, if that can be had: nothing here is to survive."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)

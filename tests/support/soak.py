"""The long forms that `make soak` runs, of what `make test` runs in a short form or leaves out.

Tests that have one are marked `soak`; those marked `soak(alone=True)` run in no other way (tests/conftest.py).
"""

from __future__ import annotations

import os
from typing import Final

IS_SOAK: Final = bool(os.environ.get("OTTLA_SOAK"))


def rounds(*, short: int, long: int) -> int:
    """How often something is to be done; OTTLA_ROUNDS says otherwise."""
    return int(os.environ.get("OTTLA_ROUNDS") or (long if IS_SOAK else short))

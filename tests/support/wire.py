"""The conformance suite's connection, which sends the bytes it is given and hides nothing; with the tests' patience."""

from __future__ import annotations

from typing import Any

from ottla.conformance import wire
from ottla.conformance.wire import ConnectionClosedError, SilenceError
from tests.support.patience import PATIENCE_SECONDS

__all__ = ["Connection", "ConnectionClosedError", "SilenceError"]


class Connection(wire.Connection):
    """Waits as long as a test waits for anything."""

    def __init__(self, bootstrap: str, *, timeout_seconds: float = PATIENCE_SECONDS, **options: Any) -> None:
        super().__init__(bootstrap, timeout_seconds=timeout_seconds, **options)

"""The conformance suite's client of messages, with the tests' patience."""

from __future__ import annotations

from typing import Any

from ottla.conformance import client
from ottla.conformance.client import API, Answer, api_of
from tests.support.patience import PATIENCE_SECONDS

__all__ = ["API", "Answer", "Client", "api_of"]


class Client(client.Client):
    """Waits as long as a test waits for anything."""

    def __init__(self, bootstrap: str, *, timeout_seconds: float = PATIENCE_SECONDS, **options: Any) -> None:
        super().__init__(bootstrap, timeout_seconds=timeout_seconds, **options)

"""What a peer is to the benchmark."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from bench.broker import Broker


class Peer(Protocol):
    """Something that can be started and measured."""

    name: str

    def missing(self) -> str | None:
        """Why it cannot run here, in one line, or None."""

    def prepare(self) -> None:
        """Fetch and build what it needs, once; may take minutes the first time, and says so."""

    def start(self) -> AbstractContextManager[Broker]:
        """A fresh one; its address is known, but it need not listen yet."""

"""Any broker that runs already, given by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bench.broker import Broker


class Other:
    def __init__(self, bootstrap: str) -> None:
        self.name = bootstrap

    def missing(self) -> str | None:
        return None

    def prepare(self) -> None:
        pass

    @contextmanager
    def start(self) -> Iterator[Broker]:
        yield Broker(self.name, self.name)

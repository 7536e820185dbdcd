"""Ottla, as installed in this environment: in memory, and with everything on disk."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from bench.broker import Broker, process

PROGRAM: Final = Path(sys.executable).with_name("ottla")
ON_DISK: Final = "ottla on disk"


def serving(peer: str, *arguments: str) -> AbstractContextManager[Broker]:
    """`ottla serve` on a free port."""
    delay = "group.initial.rebalance.delay.ms=0"
    return process(peer, [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--set", delay, *arguments])


class Ottla:
    name = "ottla"

    def missing(self) -> str | None:
        return None if PROGRAM.exists() else f"{PROGRAM} is not there; make setup installs it"

    def prepare(self) -> None:
        pass

    def start(self) -> AbstractContextManager[Broker]:
        return serving(self.name)


class OttlaOnDisk(Ottla):
    name = ON_DISK

    @contextmanager
    def start(self) -> Iterator[Broker]:
        with (
            tempfile.TemporaryDirectory(prefix="ottla-bench-") as directory,
            serving(self.name, "--data-dir", directory) as broker,
        ):
            yield broker

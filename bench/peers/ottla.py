"""Ottla, as installed in this environment."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from bench.broker import Broker, process

PROGRAM: Final = Path(sys.executable).with_name("ottla")


class Ottla:
    name = "ottla"

    def missing(self) -> str | None:
        return None if PROGRAM.exists() else f"{PROGRAM} is not there; make setup installs it"

    def prepare(self) -> None:
        pass

    def start(self) -> AbstractContextManager[Broker]:
        return process(
            self.name,
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--set", "group.initial.rebalance.delay.ms=0"],
        )

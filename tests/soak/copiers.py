"""Who consumes, transforms and produces in transactions: a group of processes that are killed and started anew.

    with Copiers(broker.bootstrap, "source", "target") as copiers:
        copiers.kill_one(random)
        copiers.tend()            # whoever has ended is started anew, under its transactional id

One is of franz-go where there is Go, the others are of confluent-kafka.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final, Self

from tests.clients.libraries import ROOT

GROUP: Final = "copiers"
_COPIERS: Final = 3


class Copiers:
    """The group; as a context manager it is at work from its beginning to its end."""

    def __init__(self, bootstrap: str, source: str, target: str, franz_go: Path | None) -> None:
        self._commands: list[list[str | Path]] = []
        for number in range(_COPIERS):
            arguments = [bootstrap, source, target, GROUP, f"copier-{number}"]
            if number or franz_go is None:
                self._commands.append([sys.executable, "-m", "tests.clients.programs.copying", *arguments])
            else:
                self._commands.append([franz_go, *arguments, "member"])
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._processes = [self._start(command) for command in self._commands]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill_all()

    def kill_one(self, random: Random) -> None:
        """kill -9, and one that succeeds it."""
        self._restart(random.randrange(len(self._processes)))

    def kill_all(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def tend(self) -> None:
        """Start those anew that have ended, as they may when the broker is gone or they have been fenced."""
        for number, process in enumerate(self._processes):
            if process.poll() is not None:
                self._restart(number)

    def _restart(self, number: int) -> None:
        self._processes[number].kill()
        self._processes[number].wait()
        self._processes[number] = self._start(self._commands[number])

    def _start(self, command: list[str | Path]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)

"""franz-go's kfake: a small Go program around the package, built into `.cache/kfake/`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from bench.broker import Broker, process

SOURCE: Final = Path(__file__).parent / "kfake"
PROGRAM: Final = Path(__file__).parents[2] / ".cache" / "kfake" / "kfake"


class Kfake:
    """`settings` of the broker, in Kafka's words, as far as kfake knows them."""

    name = "kfake"

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = settings or {}

    def missing(self) -> str | None:
        return None if shutil.which("go") else "kfake needs `go` to be built; it is not on the PATH"

    def prepare(self) -> None:
        if not PROGRAM.exists():
            print("bench: building kfake (once; Go fetches its modules)", file=sys.stderr)
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", PROGRAM, "."], cwd=SOURCE, check=True)

    def start(self) -> AbstractContextManager[Broker]:
        return process(self.name, [PROGRAM, *(f"{name}={value}" for name, value in self._settings.items())])

"""Libraries for Python: each version in a virtual environment of its own, run by the Python that runs this."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compatibility.clients.client import CACHE, Installed, run
from tests.support.fetching import fetching


@dataclass(frozen=True)
class PythonLibrary:
    name: str
    versions: Sequence[str]
    #: Its module in `compatibility.programs`.
    program: str
    since: Mapping[str, str | None] = field(default_factory=dict)
    #: By version: the first Python that can't import it.
    python_before: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    language: str = "Python"

    def missing(self, version: str) -> str | None:
        before = self.python_before.get(version)
        if before is None or sys.version_info < before:
            return None
        return f"needs a Python before {before[0]}.{before[1]}"

    def install(self, version: str) -> Installed:
        directory = CACHE / f"{self.name}-{version}"
        python, complete = directory / "bin" / "python", directory / "complete"
        with fetching(directory):
            if not complete.exists():
                run([sys.executable, "-m", "venv", "--without-pip", directory])
                run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
                     "--disable-pip-version-check", f"{self.name}=={version}"])  # fmt: skip
                complete.touch()
        return Installed((str(python), "-m", f"compatibility.programs.{self.program}"))

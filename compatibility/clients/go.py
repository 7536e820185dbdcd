"""Libraries for Go: each version is compiled into a program of its own, from sources in `programs/go`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compatibility.clients.client import CACHE, PROGRAMS, Installed, has, run
from tests.support.fetching import fetching

_SOURCES: Final = PROGRAMS / "go"
_MODULE: Final = "module card\n\ngo 1.24\n\nrequire {module} {version}\n"


@dataclass(frozen=True)
class GoLibrary:
    name: str
    versions: Sequence[str]
    module: str
    #: Its folder in `programs/go`.
    program: str
    since: Mapping[str, str | None]
    language: str = "Go"

    def missing(self, version: str) -> str | None:
        return None if shutil.which("go") else "needs `go`, which is not on the PATH"

    def install(self, version: str) -> Installed:
        directory = CACHE / f"{self.name}-{version}"
        program = directory / "program"
        with fetching(directory):
            for name in ("words", self.program):
                shutil.copytree(_SOURCES / name, directory / name, dirs_exist_ok=True)
            module = directory / "go.mod"
            if not module.exists():
                module.write_text(_MODULE.format(module=self.module, version=version))
                run(["go", "mod", "tidy"], cwd=directory)
            run(["go", "build", *self._tags(version), "-o", program, f"./{self.program}"], cwd=directory)
        return Installed((str(program),))

    def _tags(self, version: str) -> Sequence[str]:
        """What is built only for versions that have new groups."""
        return ("-tags", "newgroups") if has(self, version, "new groups") else ()


FRANZ_GO: Final = GoLibrary(
    "franz-go",
    versions=("v1.15.3", "v1.18.1", "v1.22.2"),
    module="github.com/twmb/franz-go",
    program="franz",
    since={"new groups": "1.22.0"},
)
SARAMA: Final = GoLibrary(
    "sarama",
    versions=("v1.41.2", "v1.46.3", "v1.61.1"),
    module="github.com/IBM/sarama",
    program="sarama",
    since={"new groups": None},
)
KAFKA_GO: Final = GoLibrary(
    "kafka-go",
    versions=("v0.4.42", "v0.4.51"),
    module="github.com/segmentio/kafka-go",
    program="segmentio",
    since={"static": None, "transactions": None, "new groups": None},
)

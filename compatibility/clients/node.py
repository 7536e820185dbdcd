"""Libraries for Node: npm installs each version into a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from compatibility.clients.client import CACHE, PROGRAMS, Installed, numbers, run
from tests.support.fetching import fetching


@dataclass(frozen=True)
class NodeLibrary:
    name: str
    versions: Sequence[str]
    #: Its file in `programs/js`.
    program: str
    since: Mapping[str, str | None]
    #: By version: the first Node that runs it, if not every Node does that is still maintained.
    node_from: Mapping[str, str] = field(default_factory=dict)
    language: str = "JavaScript"

    def missing(self, version: str) -> str | None:
        for tool in ("npm", "node"):
            if shutil.which(tool) is None:
                return f"needs `{tool}`, which is not on the PATH"
        first = self.node_from.get(version)
        return None if first is None or _node() >= numbers(first) else f"needs Node {first} or newer"

    def install(self, version: str) -> Installed:
        directory = CACHE / f"{self.name}-{version}"
        modules = directory / "node_modules"
        with fetching(directory):
            if not modules.exists():
                directory.mkdir(parents=True, exist_ok=True)
                run(["npm", "install", "--prefix", directory, "--no-audit", "--no-fund", "--silent",
                     f"{self.name}@{version}"])  # fmt: skip
        return Installed(("node", str(PROGRAMS / "js" / self.program)), {"NODE_PATH": str(modules)})


def _node() -> tuple[int, ...]:
    """The version of the Node that is here."""
    return numbers(subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip())


KAFKAJS: Final = NodeLibrary(
    "kafkajs",
    versions=("1.16.0", "2.0.2", "2.2.4"),
    program="kafkajs.js",
    since={"static": None, "new groups": None},
)
PLATFORMATIC: Final = NodeLibrary(
    "@platformatic/kafka",
    versions=("1.35.0", "2.12.1"),
    program="platformatic.js",
    since={},
    node_from={"2.12.1": "22.22.0"},
)

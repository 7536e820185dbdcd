"""Libraries for Node: npm installs each version into a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compatibility.clients.client import CACHE, PROGRAMS, Installed, run
from tests.support.fetching import fetching


@dataclass(frozen=True)
class NodeLibrary:
    name: str
    versions: Sequence[str]
    #: Its file in `programs/js`.
    program: str
    since: Mapping[str, str | None]
    language: str = "JavaScript"

    def missing(self, version: str) -> str | None:
        for tool in ("npm", "node"):
            if shutil.which(tool) is None:
                return f"needs `{tool}`, which is not on the PATH"
        return None

    def install(self, version: str) -> Installed:
        directory = CACHE / f"{self.name}-{version}"
        modules = directory / "node_modules"
        with fetching(directory):
            if not modules.exists():
                directory.mkdir(parents=True, exist_ok=True)
                run(["npm", "install", "--prefix", directory, "--no-audit", "--no-fund", "--silent",
                     f"{self.name}@{version}"])  # fmt: skip
        return Installed(("node", str(PROGRAMS / "js" / self.program)), {"NODE_PATH": str(modules)})


KAFKAJS: Final = NodeLibrary(
    "kafkajs",
    versions=("1.16.0", "2.0.2", "2.2.4"),
    program="kafkajs.js",
    since={"static": None, "new groups": None},
)

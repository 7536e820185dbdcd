"""What came of it, as it is kept: `results/NAME.json`, with the day and the commit it was made on.

`clients.json` has a row for each client and version, and in it a side for each broker. What a run does not reach stays
as it was, with its own day. Nothing in it depends on the machine.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

DIRECTORY: Final = Path(__file__).parent / "results"
CLIENTS: Final = "clients"

PASSED: Final = "passed"
FAILED: Final = "failed"
NOT_SERVED: Final = "not served"
HAS_NONE: Final = "client has none"


@dataclass(frozen=True)
class Cell:
    """What came of a story, and why if it is no good news. Kept as one text."""

    outcome: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.why}" if self.why else self.outcome

    @classmethod
    def read(cls, text: str) -> Self:
        outcome, _, why = text.partition(": ")
        return cls(outcome, why)


@dataclass(frozen=True)
class Stamp:
    """When, and with which commit of Ottla."""

    made: str
    commit: str

    @classmethod
    def now(cls) -> Self:
        """A `+` behind the commit: Ottla's sources are not as they are there."""
        head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "ottla"], check=False).returncode
        return cls(time.strftime("%Y-%m-%d"), head.stdout.strip() + ("+" if changed else ""))

    def json(self) -> dict[str, str]:
        return {"made": self.made, "commit": self.commit}


def load(name: str) -> dict[str, Any]:
    """The results of this name; empty if there are none yet."""
    path = DIRECTORY / f"{name}.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return results


def save(name: str, results: Mapping[str, Any]) -> Path:
    """Write them; returns where they are."""
    DIRECTORY.mkdir(exist_ok=True)
    path = DIRECTORY / f"{name}.json"
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return path

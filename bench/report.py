"""The table, as Markdown for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.figures import Figure, Row, Values

RESULTS: Final = Path(__file__).parent / "results"


@dataclass
class Results:
    """Best values so far by (row, peer), and why some are missing."""

    peers: list[str]
    best: dict[tuple[str, str], float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, figure: Figure, peer: str, values: Values) -> None:
        for row in figure.rows:
            value = values.get(row.title)
            if value is not None:
                key = row.title, peer
                self.best[key] = row.better(self.best[key], value) if key in self.best else value

    def cannot(self, figure: Figure, peer: str, reason: str) -> None:
        self.reasons[f"{figure.name}, {peer}"] = reason

    def markdown(self, figures: Sequence[Figure]) -> str:
        lines = [
            "| | " + " | ".join(self.peers) + " | to reach |",
            "|---|" + "--:|" * len(self.peers) + "---|",
            *(self._line(row) for figure in figures for row in figure.rows),
        ]
        if self.reasons:
            lines += ["", *(f"- {where}: {reason}" for where, reason in sorted(self.reasons.items()))]
        return "\n".join(lines)

    def json(self) -> str:
        table: dict[str, dict[str, float]] = {}
        for (row, peer), value in self.best.items():
            table.setdefault(row, {})[peer] = round(value, 3)
        return json.dumps(
            {"machine": machine(), "figures": table, "missing": self.reasons}, indent=2, ensure_ascii=False
        )

    def _line(self, row: Row) -> str:
        cells = [
            f"{self.best[row.title, peer]:,.{row.digits}f}" if (row.title, peer) in self.best else "–"
            for peer in self.peers
        ]
        return f"| {row.title} | {' | '.join(cells)} | {row.goal} |"


def machine() -> Mapping[str, str | int | None]:
    """Where it was measured; figures of two machines don't compare."""
    return {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}


def save(results: Results, figures: Sequence[Figure]) -> Path:
    """Write both files; returns the Markdown's path."""
    RESULTS.mkdir(exist_ok=True)
    stem = time.strftime("%Y-%m-%dT%H-%M-%S")
    (RESULTS / f"{stem}.json").write_text(results.json() + "\n")
    path = RESULTS / f"{stem}.md"
    path.write_text(results.markdown(figures) + "\n")
    return path

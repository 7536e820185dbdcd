"""What a figure of the pipeline is, and what it has to measure with: a warm Spark session, a broker, room on a disk."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.figures.figure import Row, Values
from ottla.pipeline import launch
from ottla.pipeline.cli import make_parser

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Stage:
    """What a figure is measured on."""

    spark: SparkSession
    bootstrap: str
    """Ottla's, which no other figure has used."""
    kafka: str | None
    """A real Kafka's, if there is one here."""
    folder: Path
    """Empty, and gone afterwards."""
    scale: float
    """1 is what the goals are set for; less is for a quick look."""

    def many(self, count: int) -> int:
        """So many at scale 1."""
        return max(1, round(count * self.scale))

    def run(self, *arguments: object) -> tuple[float, Any]:
        """Run a job in this session; returns its seconds and what it says with --json."""
        words = [*map(str, arguments), "--json"]
        options = make_parser(words).parse_args(words)
        stdout = io.StringIO()
        started = time.perf_counter()
        with redirect_stdout(stdout):
            exit_code = launch.run(options.run.args[0], options, self._lend)
        seconds = time.perf_counter() - started
        if exit_code:
            raise RuntimeError(f"{words} ended with {exit_code}; the line above says why")
        return seconds, json.loads(stdout.getvalue())

    @contextmanager
    def _lend(self, *_arguments: object, **_options: object) -> Iterator[SparkSession]:
        yield self.spark


@dataclass(frozen=True, slots=True)
class PipelineFigure:
    """A few rows of the table, and how they are measured."""

    name: str
    rows: Sequence[Row]
    measure: Callable[[Stage], Values]
    wants_kafka: bool = False

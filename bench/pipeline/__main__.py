"""`python -m bench.pipeline`: measure the Spark jobs, each on a broker of its own, and print the table.

A module in `figures/` with a `FIGURE` is measured; nothing else has to be told of it.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figures.figure import Figure
from bench.peers.kafka import Kafka
from bench.peers.ottla import Ottla
from bench.pipeline import figures
from bench.pipeline.stage import PipelineFigure, Stage
from bench.report import Results, save
from ottla.pipeline import machine
from ottla.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {"spark.master": "local[2]"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline", description="Measure the Spark jobs.")
    names = sorted(module.name for module in pkgutil.iter_modules(figures.__path__))
    parser.add_argument("--only", default="", help=f"figures, with commas between: {', '.join(names)}")
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full size (default: %(default)s)")
    options = parser.parse_args()
    if reason := machine.missing():
        print(f"bench: {reason}", file=sys.stderr)
        return 1
    wanted = options.only.split(",") if options.only else names
    chosen: list[PipelineFigure] = [
        importlib.import_module(f"{figures.__name__}.{name}").FIGURE for name in names if name in wanted
    ]
    results = Results(["ottla"])
    shown = [Figure(figure.name, figure.rows, lambda _broker, _seconds: {}) for figure in chosen]
    with open_session("bench", SETTINGS, needs_connector=True) as spark:
        for figure, row in zip(chosen, shown, strict=True):
            values = _measure(figure, spark, options.scale)
            results.add(row, "ottla", values)
            print(f"bench: {figure.name}: {values}", file=sys.stderr)
    path = save(results, shown)
    print(results.markdown(shown))
    if options.scale != 1:
        print(f"\nAt {options.scale:g} of the full size: not what the goals are set for.")
    print(f"bench: kept in {path} and beside it", file=sys.stderr)
    return 0


def _measure(figure: PipelineFigure, spark: SparkSession, scale: float) -> dict[str, float | None]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ottla-bench-")))
        bootstrap = stack.enter_context(Ottla().start()).bootstrap
        kafka = None
        if figure.wants_kafka and Kafka().missing() is None:
            Kafka().prepare()
            kafka = stack.enter_context(Kafka().start()).bootstrap
        return dict(figure.measure(Stage(spark, bootstrap, kafka, folder, scale)))


if __name__ == "__main__":
    sys.exit(main())

"""How fast a topic goes to Parquet and back: a million records of 100 bytes in four partitions.

Each job is run once before on a small topic, so that the JVM has seen its classes; the time of a run is all of it, from
the command's first look at the broker to its closing line.
"""

from __future__ import annotations

from typing import Final

from bench.figures.figure import Row, Values
from bench.pipeline.stage import PipelineFigure, Stage
from bench.pipeline.topic import PARTITIONS, RECORDS, fill

WARM_UP_RECORDS: Final = 50_000
_EXPORT: Final = "export, records a second"
_SEED: Final = "seed with timestamps, records a second"


def measure(stage: Stage) -> Values:
    _there_and_back(stage, "warm-up", WARM_UP_RECORDS)
    return _there_and_back(stage, "measured", stage.many(RECORDS))


def _there_and_back(stage: Stage, topic: str, records: int) -> Values:
    fill(stage.bootstrap, topic, records)
    at, folder = ("--bootstrap-server", stage.bootstrap), stage.folder / topic
    export_seconds, exported = stage.run("export", *at, "--topic", topic, "--output", folder)
    seed_seconds, seeded = stage.run(
        "seed", *at, "--input", folder, "--topic", f"{topic}-back", "--create", PARTITIONS, "--timestamps"
    )
    assert exported["rows"] == seeded["rows"] == records
    return {_EXPORT: records / export_seconds, _SEED: records / seed_seconds}


FIGURE: Final = PipelineFigure("transfer", [Row(_EXPORT, goal="≥ 150,000"), Row(_SEED, goal="≥ 90,000")], measure)

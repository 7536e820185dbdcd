"""How long `lag` takes over a million committed offsets: 10,000 groups, each in 100 partitions, committed twice."""

from __future__ import annotations

from typing import Final

from bench.figures.figure import Row, Values
from bench.pipeline.stage import PipelineFigure, Stage
from tests.cli.stage import commit, create
from tests.support.client import Client

GROUPS: Final = 10_000
PARTITIONS: Final = 100
_SECONDS: Final = "lag over 1M committed offsets in 10,000 groups, s"
_ROWS: Final = "lag, records of the group log a second"


def measure(stage: Stage) -> Values:
    groups = stage.many(GROUPS)
    with Client(stage.bootstrap, timeout_seconds=60) as client:
        create(client, "bench-lag", PARTITIONS)
        for offset in (1, 0):
            for index in range(groups):
                commit(client, f"group-{index}", "bench-lag", dict.fromkeys(range(PARTITIONS), offset))
    stage.run("lag", "--bootstrap-server", stage.bootstrap, "--group", "group-0")  # warms Spark up
    seconds, said = stage.run("lag", "--bootstrap-server", stage.bootstrap)
    assert said["committed_offsets"] == groups * PARTITIONS
    return {_SECONDS: seconds, _ROWS: said["rows"] / seconds}


FIGURE: Final = PipelineFigure(
    "lag", [Row(_SECONDS, digits=1, smaller_is_better=True, goal="≤ 60"), Row(_ROWS)], measure
)

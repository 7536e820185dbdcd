"""How long `rebalances` takes over ten million lines of a journal, and whether its memory grows with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bench.figures.figure import Row, Values
from bench.pipeline.stage import PipelineFigure, Stage

LINES: Final = 10_000_000
GROUPS: Final = 1_000
_FEWER: Final = 10
_KIB_PER_MIB: Final = 1024
_SECONDS: Final = "rebalances over 10M journal lines, s"
_RATE: Final = "rebalances, lines a second"
_MIB: Final = "rebalances, peak memory of the JVM at 10M lines, MiB"
_MIB_FEWER: Final = "rebalances, peak memory of the JVM at 1M lines, MiB"
#: A rebalance: what happens, the state after it, how many milliseconds later.
_ROUND: Final = (
    ("group.member.removed", "Stable", 900_000, ',"cause":"session_expired"'),
    ("group.rebalance.started", "PreparingRebalance", 0, ',"cause":"session_expired"'),
    ("group.rebalance.joined", "CompletingRebalance", 700, ',"cause":"session_expired"'),
    ("group.rebalance.completed", "Stable", 20, ',"cause":"session_expired","duration_ms":720'),
)


def measure(stage: Stage) -> Values:
    fewer, journal = stage.folder / "fewer.jsonl", stage.folder / "journal.jsonl"
    lines = stage.many(LINES)
    write_journal(fewer, lines // _FEWER)
    write_journal(journal, lines)
    _, pid = stage.run("rebalances", fewer), _jvm(stage)  # warms Spark up
    peaks = []
    seconds = 0.0
    for path in (fewer, journal):
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
        seconds, said = stage.run("rebalances", path)
        assert said["group_count"] == GROUPS
        peaks.append(_peak_mib(pid))
    return {_SECONDS: seconds, _RATE: lines / seconds, _MIB_FEWER: peaks[0], _MIB: peaks[1]}


def write_journal(path: Path, lines: int) -> None:
    """Groups that lose a member every quarter of an hour, in turn."""
    with path.open("w") as file:
        number, t, sequence = 0, 1_767_225_600_000, 0
        while number < lines:
            for event, state, later_ms, details in _ROUND:
                t += later_ms
                sequence += 1
                for group in range(GROUPS):
                    number += 1
                    file.write(
                        f'{{"v":1,"line":{number},"t":{t},"group":"group-{group}","seq":{sequence},"event":"{event}",'
                        f'"state":"{state}","generation":{sequence},"member_id":"client-{group}-0b0f3c52"{details}}}\n'
                    )


def _jvm(stage: Stage) -> int:
    context: Any = stage.spark.sparkContext
    pid: int = context._jvm.java.lang.ProcessHandle.current().pid()
    return pid


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / _KIB_PER_MIB


FIGURE: Final = PipelineFigure(
    "rebalances",
    [
        Row(_SECONDS, digits=1, smaller_is_better=True, goal="≤ 90"),
        Row(_RATE),
        Row(_MIB_FEWER, smaller_is_better=True),
        Row(_MIB, smaller_is_better=True, goal="does not grow with the lines"),
    ],
    measure,
)

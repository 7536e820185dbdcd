"""`python -m compatibility.suites`: run the suites against Ottla and Kafka, and keep the counts."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from compatibility.choice import chosen
from compatibility.results import Stamp, load, save
from compatibility.suites import SUITES, room
from compatibility.suites.not_had import NOT_HAD
from compatibility.suites.record import BROKERS, KAFKA, row, without
from compatibility.suites.suite import CACHE, Suite
from ottla.protocol.generate.modules import KAFKA_VERSION
from tests.support.kafka_process import missing_tools

RESULTS: Final = "suites"


def main() -> int:
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="python -m compatibility.suites", description="Run public test suites.")
    parser.add_argument("--only", default="", metavar="NAMES", help=f"suites, with commas between: {', '.join(names)}")
    options = parser.parse_args()
    wanted = chosen(parser, options.only, "suite", names)
    if reason := room.missing():
        parser.exit(1, f"suites: {reason}\n")
    for suite in SUITES:
        if suite.name in wanted:
            _run(suite)
    return 0


def _run(suite: Suite) -> None:
    """With both brokers, and keep what came of it; rows of other suites stay as they were."""
    if reason := suite.missing():
        _say(f"without {suite.name}: {reason}")
        return
    logs = CACHE / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    suite.prepare()
    alone = frozenset(room.in_a_room(suite, "none", logs / f"{suite.name}-alone.log"))
    _say(f"{suite.name}: {len(alone)} tests need no broker and are not counted")
    by_broker = {}
    for broker in BROKERS:
        if broker == KAFKA and (reason := missing_tools()):
            _say(f"without Kafka: {reason}")
            continue
        outcomes = room.in_a_room(suite, broker, logs / f"{suite.name}-{broker}.log")
        by_broker[broker] = without(outcomes, alone)
        _say(f"{suite.name} with {broker}: {len(by_broker[broker])} tests")
    stamp = Stamp.now()
    found = row(suite, by_broker, stamp)
    _say(f"{suite.name}: {found['ottla']}, Kafka {found['kafka']}")
    rows = {row["suite"]: row for row in load(RESULTS).get("rows", ())} | {suite.name: found}
    kept = [rows[one.name] for one in SUITES if one.name in rows]
    not_run = [{"suite": name, "why": why} for name, why in NOT_HAD]
    save(RESULTS, {**stamp.json(), "kafka": KAFKA_VERSION, "rows": kept, "not run": not_run})


def _say(line: str) -> None:
    print(f"suites: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

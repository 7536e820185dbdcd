"""How many of the recorded answers each broker gives as Kafka gave them: `python -m compatibility.conformance`.

Each area meets a fresh broker, so that what one area broke counts in that area alone. If a broker hangs or ends in the
midst of an area, the script that met it has no answer, and a new broker goes on with the next one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from compatibility.choice import chosen
from compatibility.peers import PEERS, Peer
from compatibility.results import Stamp, load, save
from ottla.conformance import golden
from ottla.conformance.card import DIFFERING, Outcome, Result
from ottla.conformance.play import Run
from ottla.conformance.selection import Case, areas, select
from ottla.conformance.survey import survey
from ottla.conformance.transcript import Json
from ottla.conformance.warming import load_coordinators

RESULTS: Final = "conformance"
#: How many of those that are different have all the error codes that Kafka gave.
SAME_ERRORS: Final = "same errors"


def main() -> int:
    names = [_name(peer) for peer in PEERS]
    parser = argparse.ArgumentParser(prog="python -m compatibility.conformance", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAMES", help=f"brokers, with commas between: {', '.join(names)}")
    parser.add_argument("--area", default="", metavar="AREAS", help="only these; the others stay as they were")
    options = parser.parse_args()
    wanted = chosen(parser, options.only, "broker", names)
    of_areas = chosen(parser, options.area, "area", areas())
    for peer in PEERS:
        if _name(peer) not in wanted:
            continue
        if reason := peer.missing():
            _say(f"without {_name(peer)}: {reason}")
            continue
        for area in of_areas:
            _keep(peer, area, play(peer, area))
    return 0


def play(peer: Peer, area: str) -> dict[str, Any]:
    """All scripts of an area: what is kept of it."""
    results: list[Result] = []
    starts = 0
    cases = select(golden.RELEASE, of_areas=[area])
    while len(results) < len(cases):
        results += _begin(peer, cases[len(results) :])
        starts += 1
    counted = Counter(result.outcome for result in results)
    _say(f"{_name(peer)}: {area}: " + ", ".join(f"{counted[outcome]} {outcome}" for outcome in Outcome))
    return {
        "counts": {outcome.value: counted[outcome] for outcome in Outcome},
        SAME_ERRORS: sum(has_same_errors(result) for result in results if result.outcome is Outcome.DIFFERENT),
        "restarts": starts - 1,
        **{outcome.value: _scripts(results, outcome) for outcome in Outcome if outcome in DIFFERING},
        "reasons": dict(Counter(result.reason for result in results if result.reason).most_common()),
    }


def _keep(peer: Peer, area: str, played: Mapping[str, Any]) -> None:
    """In the file of results, with those of other areas and brokers as they were."""
    rows = {row["peer"]: row for row in load(RESULTS).get("rows", ())}
    row = rows.setdefault(_name(peer), {"areas": {}})
    stamp = Stamp.now().json()
    found = {**row["areas"], area: played}
    rows[_name(peer)] = {
        "peer": _name(peer),
        "version": peer.version(),
        **stamp,
        "areas": {name: found[name] for name in areas() if name in found},
    }
    kept = [rows[_name(one)] for one in PEERS if _name(one) in rows]
    save(RESULTS, {**stamp, "release": golden.RELEASE, "rows": kept})


def _begin(peer: Peer, cases: Sequence[Case]) -> list[Result]:
    """As many of these as a fresh broker lives to see: at least one."""
    with peer.start() as bootstrap:
        broker = survey(bootstrap, peer.told)
        with suppress(Exception):  # how a broker fails here, the scripts will show
            load_coordinators(bootstrap, broker.claims)
        card = Run(broker, golden.RELEASE).play(cases)
    if card.ended_early == "interrupted":
        raise KeyboardInterrupt
    return [result for result in card.results if result.reason != card.ended_early or not card.ended_early]


def has_same_errors(result: Result) -> bool:
    """Whether the answers differ in other things than error codes, which is what most clients look at first."""
    return all(_errors(step.expected) == _errors(step.got) for step in result.differences)


def _errors(answer: Json) -> list[Json]:
    """The error codes of an answer, as deep as they are; what is no answer stands for itself."""
    if isinstance(answer, str):
        return [answer]
    if isinstance(answer, list):
        return [error for item in answer for error in _errors(item) if not isinstance(item, str)]
    if not isinstance(answer, dict):
        return []
    found: list[Json] = []
    for name, value in answer.items():
        if name.endswith("error_code"):
            found.append(value)
        elif not isinstance(value, str):
            found += _errors(value)
    return found


def _scripts(results: Sequence[Result], outcome: Outcome) -> dict[str, list[int]]:
    """The scripts of which this came, with the versions."""
    found: dict[str, list[int]] = {}
    for result in results:
        if result.outcome is outcome:
            found.setdefault(result.case.script.name, []).append(result.case.version)
    return found


def _name(peer: Peer) -> str:
    """Two releases of one broker are two rows."""
    return f"{peer.name} {peer.version()}" if sum(one.name == peer.name for one in PEERS) > 1 else peer.name


def _say(line: str) -> None:
    print(f"conformance: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""The section about Kafka's recorded answers, printed from `results/conformance.json`: brokers, then areas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from compatibility.conformance import SAME_ERRORS
from ottla.conformance.card import Outcome

Row = Mapping[str, Any]

#: What a column is called, and what it counts.
_HEADS: Final[Mapping[str, str]] = {
    "Equal": Outcome.EQUAL,
    "Error codes equal": SAME_ERRORS,
    "Different": Outcome.DIFFERENT,
    "No answer": Outcome.NO_ANSWER,
    "Not claimed": Outcome.NOT_CLAIMED,
    "Not run": Outcome.NOT_RUN,
}
_NOTES: Final[Mapping[str, str]] = {
    "Ottla": "It does not serve SASL. It answers an AlterConfigs that lists a resource twice, and Kafka does not: see "
    "[Differences from Kafka](differences.md).",
    "kfake": "It is made for tests of clients, not to equal Kafka in every field. The most frequent difference is a "
    "field next to an error, such as an offset of 0 where Kafka has -1.",
    "librdkafka's mock": "It is made for tests of one client, and claims little. A member joins in one step; Kafka "
    "gives it an id first. Most scripts with groups wait for this step and get no answer.",
    "Apache Kafka 4.3.1": "The recorded answers are of a later release. The differences were not examined one by one.",
}


def lines(results: dict[str, Any]) -> list[str]:
    """The whole section."""
    rows: Sequence[Row] = results["rows"]
    return [
        "## Kafka's answers",
        "",
        "[`ottla conformance`](conformance.md) sends requests to a broker, and compares its answers with recorded ones",
        f"of Apache Kafka {results['release']}. Each area ran against a new broker.",
        "",
        f"| Broker | {' | '.join(_HEADS)} | Made |",
        f"| --- |{' ---: |' * len(_HEADS)} --- |",
        *(f"| {_name(row)} | {' | '.join(_sums(row))} | {row['made']}, {row['commit']} |" for row in rows),
        "",
        "A script is equal only if all fields of all its answers are equal. Scripts with other differences, but equal",
        "error codes, have their own column. What a broker does not list in ApiVersions is not counted against",
        'it. "Not run": the broker does not have a setting that the script needs. "No answer": no answer within five',
        "seconds, or the broker closed the connection or ended.",
        "",
        *(line for row in rows for line in _note(row)),
        "",
        "Equal scripts, of those that ran, for each area:",
        "",
        f"| Area | {' | '.join(_name(row) for row in rows)} |",
        f"| --- |{' ---: |' * len(rows)}",
        *(f"| {area} | {' | '.join(_of_area(row, area) for row in rows)} |" for area in _areas(rows)),
    ]


def _name(row: Row) -> str:
    """With its version, unless that is in the name, or is the commit's."""
    if row["version"] in row["peer"] or row["peer"] == "Ottla":
        return str(row["peer"])
    return f"{row['peer']} {row['version']}"


def _sums(row: Row) -> Iterator[str]:
    """One for each of the heads."""
    counted: Counter[str] = Counter()
    for area in row["areas"].values():
        counted.update(area["counts"])
        counted[SAME_ERRORS] += area[SAME_ERRORS]
    counted[Outcome.DIFFERENT] -= counted[SAME_ERRORS]
    return (str(counted[name]) for name in _HEADS.values())


def _note(row: Row) -> Iterator[str]:
    restarts = sum(area["restarts"] for area in row["areas"].values())
    words = [_NOTES[row["peer"]]] if row["peer"] in _NOTES else []
    if restarts:
        times = "once" if restarts == 1 else f"{restarts} times"
        words.append(f"It hung or ended {times}; the next script ran against a new one.")
    if words:
        yield f"- {row['peer']}: {' '.join(words)}"


def _areas(rows: Sequence[Row]) -> list[str]:
    return sorted({area for row in rows for area in row["areas"]})


def _of_area(row: Row, area: str) -> str:
    """Such as `32 of 33`; a dash where nothing was played."""
    counts = row["areas"].get(area, {}).get("counts", {})
    equal = counts.get(Outcome.EQUAL, 0)
    played = equal + counts.get(Outcome.DIFFERENT, 0) + counts.get(Outcome.NO_ANSWER, 0)
    return f"{equal} of {played}" if played else "–"

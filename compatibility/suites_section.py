"""The section about public test suites, printed from `results/suites.json`: the counts, and each test that fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from compatibility.suites.known import reason_of
from compatibility.suites.suite import Outcome

Row = Mapping[str, Any]

#: What stands in a row, and how it is said.
_LISTS: Final[Mapping[str, str]] = {
    "fail with Ottla alone": "Fail with Ottla, and pass with Kafka",
    "fail with Kafka alone": "Fail with Kafka, and pass with Ottla",
    "fail with both": "Fail with both",
    "skipped with Ottla alone": "Skip themselves with Ottla, and pass with Kafka",
}


def lines(results: dict[str, Any]) -> list[str]:
    """The whole section."""
    rows: Sequence[Row] = results["rows"]
    return [
        "## Public test suites",
        "",
        "Tests by the authors of the clients, unchanged, run against Ottla and against Apache Kafka "
        f"{results['kafka']}",
        "in the same way. Tests that do not need a broker are not counted. The counts are of the last run, on a busy",
        "machine, so a test with a time limit may have failed for this reason alone. A test without a reason beside it",
        "was not examined yet.",
        "",
        "| Suite | Ottla: passed | failed | skipped | Kafka: passed | failed | skipped | Made |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        *(
            f"| {row['suite']} {row['version']} | {_counts(row['ottla'])} | {_counts(row['kafka'])} "
            f"| {row['made']}, {row['commit']} |"
            for row in rows
        ),
        *(line for row in rows for line in _suite(row)),
        "",
        "### Suites that are not run",
        "",
        *(f"- {entry['suite']}: {entry['why']}." for entry in results["not run"]),
    ]


def _counts(counts: Mapping[str, int] | None) -> str:
    """In three columns."""
    return " | ".join("not run" if counts is None else str(counts[outcome]) for outcome in Outcome)


def _suite(row: Row) -> Iterator[str]:
    yield from ("", f"### {row['suite']} {row['version']}", "", f"From: {row['origin']}. Run: {row['scope']}.")
    for key, title in _LISTS.items():
        names: Sequence[str] = row.get(key, ())
        if not names:
            continue
        yield from ("", f"{title}:", "")
        by_reason: dict[str, list[str]] = {}
        for name in names:
            by_reason.setdefault(reason_of(row["suite"], name), []).append(name)
        for reason, alike in by_reason.items():
            yield f"- {', '.join(f'`{name}`' for name in alike)}{f': {reason}' if reason else ''}"

"""The section about clients, printed from `results/clients.json`: a summary, and a table for each client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from compatibility.clients import CLIENTS
from compatibility.results import FAILED, HAS_NONE, NOT_SERVED, PASSED, Cell
from compatibility.stories import STORIES

_MARKS: Final = {PASSED: "✓", HAS_NONE: "–", NOT_SERVED: "not served", FAILED: "✗"}
_SIDES: Final = {"ottla": "Ottla", "kafka": "Kafka"}
_NOT_RUN: Final = "not run"
_LEGEND: Final = (
    ("✓", "The story was played to its end, and what it proves was so."),
    ("–", "This version of the client has no such thing."),
    ("not served", "The broker says that it does not serve this, and the client's attempt failed."),
    ("✗", "It failed. Why stands below the table."),
    ("not run", "It has not been played on any machine yet. Why stands below the table."),
)

Row = Mapping[str, Any]


def lines(results: dict[str, Any]) -> list[str]:
    """The whole section."""
    rows: Sequence[Row] = results["rows"]
    releases = ", ".join(dict.fromkeys(row["kafka"]["release"] for row in rows if "kafka" in row))
    by_client = {name: list(of_one) for name, of_one in groupby(rows, key=lambda row: str(row["client"]))}
    return [
        "## Clients",
        "",
        f"Each client plays eight stories with Ottla, and with Apache Kafka {releases}. No client is patched.",
        "What came of the stories of all its versions:",
        "",
        *_summary(by_client),
        "",
        "Confluent's clients for .NET, Go and JavaScript and Rust's rdkafka are librdkafka with another face, as",
        "confluent-kafka is. They are not played.",
        "",
        "| Story | What it proves |",
        "| --- | --- |",
        *(f"| {story.name} | {story.proves} |" for story in STORIES),
        "",
        "What a client says is not enough: offsets, members and kinds of groups are looked up at the broker as well.",
        "",
        "| Mark | What it means |",
        "| --- | --- |",
        *(f"| {mark} | {meaning} |" for mark, meaning in _LEGEND),
        "",
        "In the tables below each column with a version is Ottla's. The last column is Kafka's: what came of the story",
        "with all versions that have it, and which of them are different.",
        *(line for name, of_one in by_client.items() for line in _client(name, of_one)),
    ]


def _summary(by_client: Mapping[str, Sequence[Row]]) -> list[str]:
    languages = {client.name: client.language for client in CLIENTS}
    return [
        "| Client | Language | Versions | Ottla | Kafka |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| [{name}](#{_anchor(name)}) | {languages[name]} | {', '.join(str(row['version']) for row in rows)} "
            f"| {_count(rows, 'ottla')} | {_count(rows, 'kafka')} |"
            for name, rows in by_client.items()
        ),
    ]


def _count(rows: Sequence[Row], side: str) -> str:
    outcomes = [cell.outcome for row in rows for cell in _cells(row, side).values()]
    counts = {_MARKS[outcome]: outcomes.count(outcome) for outcome in (PASSED, FAILED, NOT_SERVED)}
    return ", ".join(f"{count} {mark}" for mark, count in counts.items() if count) or _NOT_RUN


def _client(name: str, rows: Sequence[Row]) -> list[str]:
    return [
        "",
        f"### {name}",
        "",
        f"| Ottla with | {' | '.join(str(row['version']) for row in rows)} | Kafka with each |",
        f"| --- |{' :-: |' * (len(rows) + 1)}",
        *(
            f"| {story.name} | {' | '.join(_mark(row, 'ottla', story.name) for row in rows)} "
            f"| {_kafka(rows, story.name)} |"
            for story in STORIES
        ),
        "",
        *_footnotes(rows),
    ]


def _mark(row: Row, side: str, story: str) -> str:
    cell = _cells(row, side).get(story)
    return _NOT_RUN if cell is None else _MARKS[cell.outcome]


def _kafka(rows: Sequence[Row], story: str) -> str:
    """What came of a story with Kafka: the same for all versions that have it, or which ones are the others."""
    marks = {str(row["version"]): _mark(row, "kafka", story) for row in rows}
    of_those_that_can = {version: mark for version, mark in marks.items() if mark != _MARKS[HAS_NONE]}
    kinds = set(of_those_that_can.values())
    if len(kinds) <= 1:
        return next(iter(kinds), _MARKS[HAS_NONE])
    others = (f"{mark} {version}" for version, mark in of_those_that_can.items() if mark != _MARKS[PASSED])
    return f"✓, but {', '.join(others)}"


def _footnotes(rows: Sequence[Row]) -> Iterable[str]:
    for row in rows:
        for side, shown in _SIDES.items():
            for story, cell in _cells(row, side).items():
                if cell.outcome == FAILED:
                    yield f"- {row['version']}, {story}, {shown}: {cell.why}"
        if _NOT_RUN in row:
            skipped = row[_NOT_RUN]
            yield f"- {row['version']}: not run on {skipped['made']}: {skipped['why']}"
    for stamp, versions in _stamps(rows).items():
        yield f"- Played {stamp}: {', '.join(versions)}"


def _stamps(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The versions by when they were played."""
    stamps: dict[str, list[str]] = {}
    for row in rows:
        for stamp in dict.fromkeys(
            f"on {row[side]['made']}, at {row[side]['commit']}" for side in _SIDES if side in row
        ):
            stamps.setdefault(stamp, []).append(row["version"])
    return stamps


def _cells(row: Row, side: str) -> dict[str, Cell]:
    kept = row.get(side, {}).get("stories", {})
    return {story: Cell.read(text) for story, text in kept.items()}


def _anchor(heading: str) -> str:
    """As GitHub makes it, and the site."""
    return "".join(letter for letter in heading.lower().replace(" ", "-") if letter.isalnum() or letter in "-_")

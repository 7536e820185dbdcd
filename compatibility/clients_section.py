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
    ("✓", "The story ran to its end, and proved its sentence."),
    ("–", "This version of the client does not have this feature."),
    ("not served", "The broker says that it does not serve this, and the client's attempt failed."),
    ("✗", "The story failed. The reason is below the table."),
    ("not run", "The story has not run yet. The reason is below the table."),
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
        f"Each client runs eight stories with Ottla, and with Apache Kafka {releases}. No client is patched.",
        "The results of all versions together:",
        "",
        *_summary(by_client),
        "",
        "Confluent's clients for .NET, Go and JavaScript, and Rust's rdkafka, use librdkafka, as confluent-kafka does.",
        "They are not run here.",
        "",
        "| Story | What it proves |",
        "| --- | --- |",
        *(f"| {story.name} | {story.proves} |" for story in STORIES),
        "",
        "The stories do not rely on the client alone: they ask the broker for offsets, members and types of groups.",
        "",
        "| Mark | What it means |",
        "| --- | --- |",
        *(f"| {mark} | {meaning} |" for mark, meaning in _LEGEND),
        "",
        "In the tables below, a column with a version is the result with Ottla. The last column is the result with",
        "Kafka for all versions that have run. Versions with another result are named.",
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
    """What came of a story with Kafka: the same for all versions that have played it, or which ones are the others."""
    marks = {str(row["version"]): _mark(row, "kafka", story) for row in rows}
    played = {version: mark for version, mark in marks.items() if mark not in (_MARKS[HAS_NONE], _NOT_RUN)}
    kinds = set(played.values())
    if len(kinds) > 1:
        others = (f"{mark} {version}" for version, mark in played.items() if mark != _MARKS[PASSED])
        return f"✓, but {', '.join(others)}"
    unplayed = _MARKS[HAS_NONE] if _MARKS[HAS_NONE] in marks.values() else _NOT_RUN
    return next(iter(kinds), unplayed)


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

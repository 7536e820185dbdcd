"""Kafka's recorded transcripts, by release: one JSON file an area, `{script: {versions: transcript}}`.

Versions whose transcripts are equal stand together ("0-3"), and each step has a line of its own, so that a change shows
in a diff as what it is.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from ottla.conformance.script import Exempt
from ottla.conformance.transcript import Json

#: A folder for each release of Kafka.
GOLDEN: Final = Path(__file__).parent / "golden"
#: The release whose answers count where no other is named.
RELEASE: Final = "4.4"

Transcript: TypeAlias = list[Json]


@cache
def read(area: str, release: str = RELEASE) -> dict[str, dict[int, Transcript]]:
    """The transcripts of one area by script and version; empty where nothing was recorded yet."""
    path = GOLDEN / release / f"{area}.json"
    if not path.exists():
        return {}
    recorded = json.loads(path.read_text())
    return {
        name: {version: transcript for versions, transcript in by_versions.items() for version in _versions(versions)}
        for name, by_versions in recorded.items()
    }


def releases() -> list[str]:
    """The releases of Kafka whose answers are recorded."""
    return sorted(folder.name for folder in GOLDEN.iterdir())


def write(area: str, recorded: Mapping[str, Mapping[int, Transcript]], release: str = RELEASE) -> None:
    """Replace the golden file of one area."""
    folder = GOLDEN / release
    folder.mkdir(exist_ok=True)
    scripts = []
    for name, by_version in sorted(recorded.items()):
        plays = (
            f'  "{versions}": [\n    ' + ",\n    ".join(lines) + "\n  ]" for versions, lines in _grouped(by_version)
        )
        scripts.append(f'"{name}": {{\n' + ",\n".join(plays) + "\n}")
    (folder / f"{area}.json").write_text("{\n" + ",\n".join(scripts) + "\n}\n")


def difference(expected: Transcript, got: Transcript, exempt: Iterable[Exempt] = ()) -> str:
    """Both transcripts as a unified diff of steps, or "" if they agree in all that is not exempt."""
    fields = {exemption.field for exemption in exempt}
    before, after = ([_line(without(step, fields)) for step in transcript] for transcript in (expected, got))
    return "\n".join(difflib.unified_diff(before, after, "expected", "got", lineterm="", n=30))


def without(value: Json, fields: set[str]) -> Any:
    """The value without these fields, wherever they are in it."""
    if isinstance(value, dict):
        return {name: without(item, fields) for name, item in value.items() if name not in fields}
    if isinstance(value, list):
        return [without(item, fields) for item in value]
    return value


def _line(step: Json) -> str:
    return json.dumps(step, ensure_ascii=False)


def _grouped(by_version: Mapping[int, Transcript]) -> Iterator[tuple[str, list[str]]]:
    """(versions as text, lines), equal neighbours together."""
    versions = sorted(by_version)
    while versions:
        lines = [_line(step) for step in by_version[versions[0]]]
        same = 1
        while same < len(versions) and versions[same] == versions[0] + same:
            if [_line(step) for step in by_version[versions[same]]] != lines:
                break
            same += 1
        first, last = versions[0], versions[same - 1]
        yield (str(first) if first == last else f"{first}-{last}"), lines
        versions = versions[same:]


def _versions(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)

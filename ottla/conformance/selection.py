"""Which scripts are played, in which versions: by area, by the requests they make, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from ottla.conformance import golden
from ottla.conformance.client import API
from ottla.conformance.golden import Transcript
from ottla.conformance.script import Script, all_scripts
from ottla.text.nearest import nearest

#: The area whose scripts have seeds in place of versions.
WALKS: Final = "transaction_walks"
_SAID: Final = re.compile(r"(?:.* )?([A-Z]\w+)(?: v(-?\d+))?")
_WISH: Final = re.compile(r"(\w+)(?::(\d+)(?:-(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Case:
    """A script, and the version or seed it is played for."""

    script: Script
    version: int

    @property
    def number(self) -> str:
        return f"seed {self.version}" if self.script.area == WALKS else f"v{self.version}"

    def __str__(self) -> str:
        return f"{self.script.name} {self.number}"


def areas() -> list[str]:
    """All there are, in the order of their names."""
    return sorted({script.area for script in all_scripts()})


def select(release: str, *, of_areas: Iterable[str] = (), apis: Iterable[str] = (), name: str = "*") -> list[Case]:
    """The cases that Kafka's answers are recorded for, and that are wanted.

    `apis`: such as `JoinGroup`, `JoinGroup:9` or `JoinGroup:5-9`. Raises `ValueError`.
    """
    wanted = set(of_areas)
    if unknown := wanted - set(areas()):
        raise ValueError(f"there is no area {min(unknown)}; {nearest(min(unknown), areas())}")
    asked = [_asked_for(api) for api in apis]
    found = [
        Case(script, version)
        for script in sorted(all_scripts(), key=lambda script: script.area)
        if (not wanted or script.area in wanted) and fnmatchcase(script.name, name)
        for version in script.versions
        if (recorded := golden.read(script.area, release).get(script.name, {}).get(version)) is not None
        if not asked or any(key in of_api for key in requests(recorded, version) for of_api in asked)
    ]
    if not found:
        raise ValueError("no script is all of that; --list names those there are")
    return found


def new_walks(count: int, seed: int) -> list[Case]:
    """So many walks that nothing is recorded of, of each kind, from this seed on."""
    return [
        Case(script, number) for script in all_scripts() if script.area == WALKS for number in range(seed, seed + count)
    ]


def requests(transcript: Transcript, version: int) -> Iterator[tuple[str, int]]:
    """Name and version of the requests that a transcript has."""
    for step in transcript:
        match = _SAID.fullmatch(step[0]) if isinstance(step, list) and isinstance(step[0], str) else None
        if match and match[1] in API:
            yield match[1], version if match[2] is None else int(match[2])


def _asked_for(api: str) -> set[tuple[str, int]]:
    match = _WISH.fullmatch(api)
    if match is None or match[1] not in API:
        raise ValueError(f"{api} is not an API of Kafka, such as JoinGroup, JoinGroup:9 or JoinGroup:5-9")
    known = API[match[1]]
    first = int(match[2] or known.version_first)
    last = int(match[3] or match[2] or known.version_last)
    return {(known.name, version) for version in range(first, last + 1)}

"""The lines of journals, from files and from stdin, in the order in which they were written.

Files may be one journal in pieces, or those of several brokers: their lines are merged by time. Lines that can't be
used are counted: a broker that was killed may have left half a line. A file of which no line can be used is no journal.
"""

from __future__ import annotations

import gzip
import heapq
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from ottla.pipeline.report.events import TIME_MS_MAX, VERSION

STDIN: Final = "-"
#: Of a line: one with the assignments of ten thousand members has less than a tenth of it.
_LINE_BYTES_MAX: Final = 16 * 1024 * 1024


class NoJournal(Exception):
    """What is wrong, and what to do."""


class Line(NamedTuple):
    """A usable line."""

    t: int
    number: int
    group: str
    seq: int
    event: str
    state: str | None
    details: dict[str, Any]
    """All of its fields."""


@dataclass(slots=True)
class Journals:
    """Files to be read, once."""

    names: Sequence[str]
    lines: int = 0
    passed_over: int = 0
    paths: list[Path | None] = field(init=False)
    """None: stdin."""

    def __post_init__(self) -> None:
        """Raises `NoJournal` if one isn't there."""
        found = [path for name in self.names for path in _paths(name)]
        self.paths = list(dict.fromkeys(found))  # one named twice is read once

    def __iter__(self) -> Iterator[Line]:
        """Raises `NoJournal`, and `OSError`."""
        return heapq.merge(*map(self._usable, self.paths), key=lambda line: (line.t, line.number))

    def _usable(self, path: Path | None) -> Iterator[Line]:
        lines = passed_over = 0
        with _open(path) as file:
            for text in _lines(file):
                lines += 1
                self.lines += 1
                if (line := _parsed(text)) is not None:
                    yield line
                else:
                    passed_over += 1
                    self.passed_over += 1
        if lines and lines == passed_over:
            raise NoJournal(
                f"{path or 'what stdin says'} is no journal: none of its lines ({lines:,}) is JSON as `ottla serve "
                "--journal FILE` writes it"
            )


def _paths(name: str) -> list[Path | None]:
    if name == STDIN:
        return [None]
    path = Path(name)
    if path.is_dir():
        found: list[Path | None] = [one.resolve() for one in sorted(path.iterdir()) if _is_journal(one)]
        if not found:
            raise NoJournal(f"there is no journal in {name}; `ottla serve --journal FILE` writes one")
        return found
    if not path.exists():
        raise NoJournal(f"there is no journal {name}; `ottla serve --journal FILE` writes one")
    return [path.resolve()]


def _is_journal(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(("_", "."))


def _open(path: Path | None) -> BinaryIO:
    if path is None:
        return sys.stdin.buffer
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Those with something in them. Of one that is too long the pieces are lines of their own, which nobody can use."""
    while text := file.readline(_LINE_BYTES_MAX):
        if not text.isspace():
            yield text


def _parsed(text: bytes) -> Line | None:
    """None: it is no JSON, or not of a journal's version that is known here."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("v") != VERSION:
        return None
    t, group, seq, event = (said.get(key) for key in ("t", "group", "seq", "event"))
    if type(t) is not int or abs(t) > TIME_MS_MAX or type(seq) is not int:
        return None
    if not isinstance(group, str) or not isinstance(event, str):
        return None
    number, state = said.get("line"), said.get("state")
    return Line(
        t,
        number if type(number) is int else seq,  # journals of old have no `line`; `seq` is nearly as good
        group,
        seq,
        event,
        state if isinstance(state, str) else None,
        said,
    )

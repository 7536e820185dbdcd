"""The lines of journals, from files and from stdin, in the order in which they were written.

Files may be one journal in pieces, or those of several brokers: their lines are merged by time. Lines that can't be
used are counted: a broker that was killed may have left half a line. A file of which no line can be used is no journal.
"""

from __future__ import annotations

import gzip
import heapq
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from ottla.rebalances.lines import LINE_BYTES_MAX, JournalLine, line_of

STDIN: Final = "-"


class NoJournal(Exception):
    """What is wrong, and what to do."""


def no_journal(what: object, lines: int) -> str:
    """The sentence for files without a single usable line."""
    return f"{what} is no journal: none of its lines ({lines:,}) is JSON as `ottla serve --journal FILE` writes it"


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

    def __iter__(self) -> Iterator[JournalLine]:
        """Raises `NoJournal`, and `OSError`."""
        return heapq.merge(*map(self._usable, self.paths), key=lambda line: line[:3])

    def _usable(self, path: Path | None) -> Iterator[JournalLine]:
        lines = passed_over = 0
        with _open(path) as file:
            for text in _lines(file):
                lines += 1
                self.lines += 1
                if (line := line_of(text)) is not None:
                    yield line
                else:
                    passed_over += 1
                    self.passed_over += 1
        if lines and lines == passed_over:
            raise NoJournal(no_journal(path or "what stdin says", lines))


def _paths(name: str) -> list[Path | None]:
    if name == STDIN:
        return [None]
    path = Path(name)
    found: list[Path | None] = (
        [one.resolve() for one in sorted(path.iterdir()) if _is_journal(one)] if path.is_dir() else []
    )
    if path.is_dir() and not found:
        raise NoJournal(f"there is no journal in {name}; `ottla serve --journal FILE` writes one")
    if not path.exists():
        raise NoJournal(f"there is no journal {name}; `ottla serve --journal FILE` writes one")
    return found or [path.resolve()]


def _is_journal(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(("_", "."))


def _open(path: Path | None) -> BinaryIO:
    if path is None:
        return sys.stdin.buffer
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines that are not blank. Of a line that is too long to be usable the rest is skipped."""
    while text := file.readline(LINE_BYTES_MAX + 1):
        rest = text
        while len(rest) > LINE_BYTES_MAX and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES_MAX + 1)
        if not text.isspace():
            yield text

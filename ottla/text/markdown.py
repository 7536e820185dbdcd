"""Tables of Markdown, for the pages of docs/ that are printed from the code's own tables."""

from __future__ import annotations

from collections.abc import Iterable


def table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A line for each row; what would end a cell or a line is escaped."""
    names = list(headers)
    return "".join(map(_line, (names, ["---"] * len(names), *rows)))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"

"""Answers on stdout: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

#: What stands for "there is none" in a table.
NOTHING = "-"


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as they must be, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    numeric = [any(type(row[index]) is int for row in rows) for index in range(len(headers))]
    for row in (headers, *cells):
        aligned = (
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, numeric, strict=True)
        )
        print("  ".join(aligned).rstrip())


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def printable(text: str) -> str:
    """The text without what could move a terminal's cursor: names in a cluster are chosen by strangers."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _cell(value: object) -> str:
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
    return printable(str(value)) or NOTHING

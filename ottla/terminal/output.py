"""Answers on stdout: a table or lines for people, JSON for programs. Only this module and `fail` print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ottla.terminal.printable import printable

#: Something to show, by Kafka's names for its parts, as --json prints it.
Item: TypeAlias = dict[str, Any]
#: The columns of a table: the header, and which part of an item, or what of it, stands below.
Columns: TypeAlias = Mapping[str, "str | Callable[[Item], object]"]

#: What stands for "there is none" in a table.
NOTHING: Final = "-"


def print_table(items: Sequence[Item], columns: Columns) -> None:
    """A line for each item, columns as wide as they must be, numbers to the right."""
    rows = [[item[part] if isinstance(part, str) else part(item) for part in columns.values()] for item in items]
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_numeric = [any(type(row[index]) is int for row in rows) for index in range(len(columns))]
    for line in cells:
        aligned = (
            cell.rjust(width) if to_the_right else cell.ljust(width)
            for cell, width, to_the_right in zip(line, widths, is_numeric, strict=True)
        )
        print("  ".join(aligned).rstrip())


def print_line(text: str = "", *, flush: bool = False) -> None:
    """Print a line of text that may contain words of clients."""
    print(printable(text), flush=flush)


def print_data(data: bytes, *, flush: bool = False) -> None:
    """Print a line of a client's bytes: unchanged into a pipe or a file, control characters escaped on a terminal."""
    if sys.stdout.isatty():
        print_line(data.decode("utf-8", "backslashreplace"), flush=flush)
        return
    sys.stdout.flush()  # what has been said as text stands before them
    sys.stdout.buffer.write(data + b"\n")
    if flush:
        sys.stdout.buffer.flush()


def print_json(value: object) -> None:
    """An object for programs. In JSON as it is written here everything beyond ASCII is escaped."""
    print(json.dumps(value, indent=2))


def _cell(value: object) -> str:
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
    return printable(str(value)) or NOTHING

"""Progress of a command, on stderr: lines, and on a terminal one that changes."""

from __future__ import annotations

import sys
from typing import Final

from ottla.terminal.printable import printable

_CLEAR_LINE: Final = "\r\x1b[K"
#: Characters of the line that changes; more might not fit on one line.
_SHOWN_MAX: Final = 100


def is_live() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def tell(text: str, *, by: str = "ottla") -> None:
    """Print a line that stays, in the place of the one that changes. `by`: the command it begins with."""
    _write(f"{by}: {printable(text)}\n")


def tell_for_now(text: str) -> None:
    """Show a line until the next one; only on a terminal. Empty: clear the line."""
    if is_live():
        _write(printable(text)[:_SHOWN_MAX])


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(_CLEAR_LINE + text if is_live() else text)
        sys.stderr.flush()

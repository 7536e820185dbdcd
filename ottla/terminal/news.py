"""What is going on while a command works, on stderr: lines, and on a terminal one that changes."""

from __future__ import annotations

import sys
from typing import Final

from ottla.terminal.printable import printable

_CLEAR_LINE: Final = "\r\x1b[K"
#: Of a line that changes: more would not stand on one.
_SHOWN_MAX: Final = 100


def is_live() -> bool:
    """Whether somebody looks on, at a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def tell(text: str, *, by: str = "ottla") -> None:
    """A line that stays, in the place of one that changes. `by`: the command it begins with."""
    _write(f"{by}: {printable(text)}\n")


def tell_for_now(text: str) -> None:
    """A line that the next one takes the place of; only on a terminal. Empty: none."""
    if is_live():
        _write(printable(text)[:_SHOWN_MAX])


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(_CLEAR_LINE + text if is_live() else text)
        sys.stderr.flush()

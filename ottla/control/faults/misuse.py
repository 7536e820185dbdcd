"""An invalid fault: the error says what is wrong with it, and what is valid."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.text.nearest import nearest


class BadFault(ValueError):
    """The fault or hold is invalid; the text says why, and what is valid."""


def unknown(kind: str, name: object, known: Iterable[str]) -> BadFault:
    """There is no such name. Says the nearest there is, or all of them."""
    return BadFault(f"there is no {kind} {name!r}; {nearest(str(name), known)}")

"""What is wrong with a fault that somebody asks for, in a sentence that says what is right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class BadFault(ValueError):
    """What was asked for makes no sense; the text says why, and what does."""


def unknown(kind: str, name: object, known: Iterable[str]) -> BadFault:
    """There is no such name. Says the nearest there is, or all of them."""
    names = list(known)
    by_folded = {one.casefold(): one for one in names}
    near = get_close_matches(str(name).casefold(), by_folded, n=1, cutoff=0.5)
    hint = f"did you mean {by_folded[near[0]]}?" if near else f"there are {', '.join(names)}"
    return BadFault(f"there is no {kind} {name!r}; {hint}")

"""The valid name nearest to a misspelt one, in the same words wherever a name is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

#: How alike two names are, from 0 to 1, of which one may be meant by the other.
_LIKENESS_MIN: Final = 0.5
_LISTED_MAX: Final = 100


def nearest(word: str, names: Iterable[str]) -> str:
    """The most similar name, whatever its case, as half a sentence; or all of them, if they are few."""
    known = list(names)
    if (meant := may_mean(word, known)) is not None:
        return f"did you mean {meant}?"
    return f"there are {', '.join(known)}" if len(known) <= _LISTED_MAX else "no name is like it"


def may_mean(word: str, names: Iterable[str]) -> str | None:
    """The most similar name, whatever its case; None: none is like it."""
    from difflib import get_close_matches  # a broker that starts has no use for it

    by_folded = {name.casefold(): name for name in names}
    close = get_close_matches(word.casefold(), by_folded, n=1, cutoff=_LIKENESS_MIN)
    return by_folded[close[0]] if close else None

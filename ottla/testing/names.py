"""What somebody may have meant by a name that there is not."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

_LISTED_MAX = 20


def nearest(word: str, names: Collection[str]) -> str:
    """The most similar name, as half a sentence; or all of them, if they are few."""
    close = get_close_matches(word, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"those are {', '.join(names)}" if len(names) <= _LISTED_MAX else "none is called anything like that"

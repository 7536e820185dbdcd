"""Sets of characters, as the places where they begin and end: (48, 58) are the digits, which are 48 to 57.

A character is in a set if an odd number of such places is at or before it.

Categories and cases are those of Python's Unicode. RE2/J's are some years older, so that a letter which is newer than
it is may be one here and none there. What is derived from all characters is derived once, when a pattern first needs
it, and may be suspended in between.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from itertools import chain, groupby
from typing import Final, TypeAlias

from ottla.pacing import paced_each

#: Where a set begins and ends, by turns.
CharSet: TypeAlias = tuple[int, ...]

CODES_END: Final = 0x110000

NONE: Final[CharSet] = ()
ANY: Final[CharSet] = (0, CODES_END)
ANY_BUT_NEWLINE: Final[CharSet] = (0, 10, 11, CODES_END)

_DIGIT: Final = "09"
_UPPER: Final = "AZ"
_LOWER: Final = "az"

#: Above this nothing has two cases.
_CASED_END: Final = 0x1E944
_KINDS: Final = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
#: Those of Unicode, and all characters. A single letter is all categories that begin with it.
CATEGORIES: Final = frozenset(["Any", *_KINDS, *(first + kind for first, kinds in _KINDS.items() for kind in kinds)])


def spans(*pairs: str) -> CharSet:
    """The set of these pairs of a first and a last character, which are in order."""
    return tuple(place for pair in pairs for place in (ord(pair[0]), ord(pair[1]) + 1))


#: By the letter in `\d`; the capital ones are what is not in them.
PERL: Final = {
    "d": spans(_DIGIT),
    "s": spans("\t\n", "\f\r", "  "),
    "w": spans(_DIGIT, _UPPER, "__", _LOWER),
}
#: By the name in `[[:alpha:]]`.
POSIX: Final = {
    "alnum": spans(_DIGIT, _UPPER, _LOWER),
    "alpha": spans(_UPPER, _LOWER),
    "ascii": spans("\0\x7f"),
    "blank": spans("\t\t", "  "),
    "cntrl": spans("\0\x1f", "\x7f\x7f"),
    "digit": spans(_DIGIT),
    "graph": spans("!~"),
    "lower": spans(_LOWER),
    "print": spans(" ~"),
    "punct": spans("!/", ":@", "[`", "{~"),
    "space": spans("\t\r", "  "),
    "upper": spans(_UPPER),
    "word": PERL["w"],
    "xdigit": spans(_DIGIT, "AF", "af"),
}


def has(characters: CharSet, code: int) -> bool:
    """Whether a character is in the set."""
    return bool(bisect_right(characters, code) & 1)


def union(ranges: Iterable[tuple[int, int]]) -> CharSet:
    """The set of all these, each from a first character to before an end."""
    places: list[int] = []
    for first, end in sorted(ranges):
        if places and first <= places[-1]:
            places[-1] = max(places[-1], end)
        else:
            places += (first, end)
    return tuple(places)


def ranges_of(characters: CharSet) -> Iterable[tuple[int, int]]:
    """A set as its ranges, from a first character to before an end."""
    return zip(characters[::2], characters[1::2], strict=True)


def inverse(characters: CharSet) -> CharSet:
    """What is not in the set."""
    places = characters[1:] if characters[:1] == (0,) else (0, *characters)
    return places[:-1] if places[-1:] == (CODES_END,) else (*places, CODES_END)


def cases_of(code: int) -> CharSet:
    """A character, and what differs from it in case alone."""
    return union((case, case + 1) for case in _orbits().get(code, (code,)))


def in_any_case(characters: CharSet) -> CharSet:
    """The set, and what differs from one of its characters in case alone."""
    orbits = paced_each(_orbits().items(), 100)
    added = [(case, case + 1) for code, orbit in orbits if has(characters, code) for case in orbit]
    return union([*ranges_of(characters), *added])


@cache
def _orbits() -> dict[int, tuple[int, ...]]:
    """Of each character that has several cases, all of them; in small orbits: (75, 107, 8490) are K, k and Kelvin's."""
    joined: dict[int, set[int]] = {}
    for code in paced_each(range(_CASED_END), 100):
        character = chr(code)
        cases = {character.lower(), character.upper()}
        others = {ord(case) for case in cases if len(case) == 1 and case.casefold() == character.casefold()} - {code}
        for other in others:
            orbit = joined.setdefault(code, {code}) | joined.setdefault(other, {other})
            for each in orbit:
                joined[each] = orbit
    return {code: tuple(sorted(orbit)) for code, orbit in joined.items()}


@cache
def named(name: str, *, is_inverse: bool, ignores_case: bool) -> CharSet:
    """What stands in `PERL` or `POSIX` by this name."""
    found = PERL.get(name) or POSIX[name]
    found = in_any_case(found) if ignores_case else found
    return inverse(found) if is_inverse else found


@cache
def category(name: str, *, is_inverse: bool, ignores_case: bool) -> CharSet:
    """What `\\p{name}` stands for: one of `CATEGORIES`."""
    if name == "Any":
        found = ANY
    else:
        ranges = (ranges for other, ranges in _by_category().items() if other.startswith(name))
        found = union(chain.from_iterable(ranges))
    if ignores_case:
        found = _category_in_any_case(name, found)
    return inverse(found) if is_inverse else found


def _category_in_any_case(name: str, found: CharSet) -> CharSet:
    """As RE2/J has it: Lu, Lt and Mn grow; Ll by what has an unusual case, such as K by Kelvin's sign; no other."""
    if name in ("Lu", "Lt", "Mn"):
        return in_any_case(found)
    if name != "Ll":
        return found
    unusual = (
        orbit for orbit in _orbits().values() if not _is_usual(orbit) and any(has(found, code) for code in orbit)
    )
    return union([*ranges_of(found), *((code, code + 1) for orbit in unusual for code in orbit)])


def _is_usual(orbit: tuple[int, ...]) -> bool:
    """A capital letter and a small one, each of which is made of the other."""
    capital, small, *more = map(chr, orbit)
    return not more and capital.lower() == small and capital in (small.upper(), small.title())


@cache
def _by_category() -> dict[str, list[tuple[int, int]]]:
    """The ranges of each category that characters have. What is not assigned is in none."""
    found: dict[str, list[tuple[int, int]]] = {}
    first = 0
    categories = paced_each((unicodedata.category(chr(code)) for code in range(CODES_END)), 1000)
    for name, alike in groupby(categories):
        end = first + sum(1 for _ in alike)
        found.setdefault(name, []).append((first, end))
        first = end
    found.pop("Cn", None)
    return found

"""Classes of characters in a pattern: [a-z], [^[:alpha:]_], \\d, \\pL, \\x{1F600}."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from ottla.pacing import yield_turn
from ottla.re2 import characters
from ottla.re2.characters import CharSet
from ottla.re2.program import PatternError

_OCTAL: Final = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEX: Final = re.compile(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_CATEGORY: Final = re.compile(r"\\([pP])(?:\{(\^?)([^}]*)\}|([^{]))", re.DOTALL)
_CONTROL: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def one(code: int, *, ignores_case: bool) -> CharSet:
    """The set of this character alone, or with its other cases."""
    return characters.cases_of(code) if ignores_case else (code, code + 1)


class ClassParser:
    """Reads one class at a place of the text. What it reads comes with the place behind it. Raises `PatternError`."""

    def __init__(self, text: str, at: int, *, ignores_case: bool) -> None:
        self._text = text
        self._at = at
        self._ignores_case = ignores_case

    def escaped(self) -> tuple[CharSet, int]:
        """A class or character that a backslash begins."""
        found = self._named()
        if found is None:
            found = one(self._escape(), ignores_case=self._ignores_case)
        return found, self._at

    def bracketed(self) -> tuple[CharSet, int]:
        """What stands between brackets."""
        self._at += 1
        is_inverse = self._looks_at("^")
        if is_inverse:
            self._at += 1
        begins = self._at
        ranges: list[tuple[int, int]] = []
        named: set[CharSet] = set()
        while not self._looks_at("]") or self._at == begins:
            yield_turn()
            if (found := self._named()) is None:
                ranges.append(self._range())
            else:
                named.add(found)
        self._at += 1
        found = characters.union(ranges)
        if self._ignores_case:
            found = characters.in_any_case(found)
        found = characters.union(chain.from_iterable(map(characters.ranges_of, [found, *named])))
        return characters.inverse(found) if is_inverse else found, self._at

    def _named(self) -> CharSet | None:
        """A class that has a name; None where none stands. It may be empty."""
        for read in (self._posix, self._category, self._perl):
            if (found := read()) is not None:
                return found
        return None

    def _looks_at(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _range(self) -> tuple[int, int]:
        first = last = self._character()
        if self._looks_at("-") and not self._looks_at("-]"):
            self._at += 1
            last = self._character()
            if last < first:
                raise PatternError(f"a range of characters ends before it begins: {self._text[: self._at]}")
        return first, last + 1

    def _character(self) -> int:
        if self._at >= len(self._text):
            raise PatternError("a bracket is not closed")
        if self._looks_at("\\"):
            return self._escape()
        self._at += 1
        return ord(self._text[self._at - 1])

    def _posix(self) -> CharSet | None:
        """[:alpha:]; None where none stands, or one that is not closed: then the bracket is itself a character."""
        end = self._text.find(":]", self._at)
        if end < 0 or not self._looks_at("[:"):
            return None
        name = self._text[self._at + 2 : end]
        plain = name.removeprefix("^")
        if plain not in characters.POSIX:
            raise PatternError(f"there is no class of characters [:{name}:]")
        self._at = end + 2
        return characters.named(plain, is_inverse=plain != name, ignores_case=self._ignores_case)

    def _category(self) -> CharSet | None:
        """\\pL, \\P{Nd}, \\p{^Lu}; None where nothing of the kind stands."""
        if not self._text.startswith(("\\p", "\\P"), self._at):
            return None
        match = _CATEGORY.match(self._text, self._at)
        if match is None or (name := match[3] or match[4]) not in characters.CATEGORIES:
            raise PatternError(f"what follows {self._text[: self._at + 2]} is no category; scripts are not known here")
        self._at = match.end()
        is_inverse = (match[1] == "P") != bool(match[2])
        return characters.category(name, is_inverse=is_inverse, ignores_case=self._ignores_case)

    def _perl(self) -> CharSet | None:
        letter = self._text[self._at + 1 : self._at + 2]
        name = letter.lower()
        if not self._looks_at("\\") or name not in characters.PERL:
            return None
        self._at += 2
        return characters.named(name, is_inverse=letter != name, ignores_case=self._ignores_case)

    def _escape(self) -> int:
        """A character that a backslash begins."""
        if (octal := _OCTAL.match(self._text, self._at)) is not None:
            self._at = octal.end()
            return int(octal[1], 8)
        if (hexadecimal := _HEX.match(self._text, self._at)) is not None:
            self._at = hexadecimal.end()
            digits = (hexadecimal[1] or hexadecimal[2]).lstrip("0")[:7]
            if (code := int(digits or "0", 16)) >= characters.CODES_END:
                raise PatternError(f"there is no character {hexadecimal[0]}")
            return code
        letter = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if letter in _CONTROL:
            return _CONTROL[letter]
        if not letter or (letter.isascii() and letter.isalnum()):
            raise PatternError(f"\\{letter} means nothing")
        return ord(letter)

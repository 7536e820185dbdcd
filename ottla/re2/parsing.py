"""A pattern's text, into a program. Syntax, flags and what is refused: RE2/J, com.google.re2j.Parser.

Groups are kept on a list, not on Python's stack, so they may be nested as deeply as anybody likes. What a group
captures nobody asks for, nor which of several ways through a pattern is preferred.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from ottla.pacing import paced, yield_turn
from ottla.re2 import characters
from ottla.re2.characters import CharSet
from ottla.re2.classes import ClassParser, one
from ottla.re2.program import Consume, Edge, Look, Part, PatternError, in_order, one_of, repeated

_REPEATS_MAX: Final = 1000
_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_NAMED_GROUP: Final = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:(-)([imsU]+))?([:)])")
_COUNTS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_EDGES: Final = {"A": Edge.TEXT_BEGINS, "z": Edge.TEXT_ENDS, "b": Edge.WORD, "B": Edge.NO_WORD}


@dataclass(frozen=True, slots=True)
class Flags:
    """What (?ims) sets."""

    i: bool = False
    """Upper and lower case are the same."""
    m: bool = False
    """^ and $ are also at the edges of lines."""
    s: bool = False
    """The dot is any character."""


@dataclass(slots=True)
class _Group:
    """What stands between parentheses, or all of the pattern."""

    flags_outside: Flags
    alternatives: list[Part] = field(default_factory=list)
    items: list[Part] = field(default_factory=list)

    def end_alternative(self) -> None:
        self.alternatives.append(in_order(self.items))
        self.items = []


def parse(pattern: str) -> Part:
    """The program of a pattern. Raises `PatternError`."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags = Flags()
        self._groups = [_Group(self._flags)]
        self._names: set[str] = set()
        #: Whether what was read last is a repetition, which can't be repeated. A brace that is none counts in RE2/J.
        self._after_repeat = False

    def parse(self) -> Part:
        while self._at < len(self._text):
            yield_turn()
            character = self._text[self._at]
            step = _STEPS.get(character)
            is_repeat = character in "*+?{"
            if step is None:
                self._at += 1
                self._literal(character)
            else:
                step(self)
            self._after_repeat = is_repeat
        if len(self._groups) > 1:
            raise PatternError("a parenthesis is not closed")
        return self._close()

    def _close(self) -> Part:
        group = self._groups.pop()
        group.end_alternative()
        self._flags = group.flags_outside
        return one_of(group.alternatives)

    def _push(self, part: Part) -> None:
        self._groups[-1].items.append(part)

    def _consume(self, characters_: CharSet) -> None:
        self._push([Consume(characters_)])

    def _literal(self, character: str) -> None:
        self._consume(one(ord(character), ignores_case=self._flags.i))

    def _look(self, at: Edge) -> None:
        self._at += 1
        self._push([Look(at)])

    # ── What begins with a character of its own ──────────────────────────────────────────────────────────────────────

    def _open(self) -> None:
        if not self._text.startswith("(?", self._at):
            self._at += 1
            self._groups.append(_Group(self._flags))
        elif self._text.startswith(("(?P<", "(?<"), self._at):
            self._open_named()
        else:
            self._read_flags()

    def _open_named(self) -> None:
        found = _NAMED_GROUP.match(self._text, self._at)
        if found is None:
            raise PatternError("a group's name has letters, digits and _ alone, and ends with >")
        name = found[1]
        if name in self._names:
            raise PatternError(f"two groups are called {name}")
        self._names.add(name)
        self._at = found.end()
        self._groups.append(_Group(self._flags))

    def _read_flags(self) -> None:
        found = _FLAGS.match(self._text, self._at)
        if found is None:
            raise PatternError("after (? there may be flags out of imsU, and : or ), or a name as <name>")
        on, _, off, end = found.groups("")
        flags = replace(self._flags, **dict.fromkeys(set(on) - {"U"}, True))
        flags = replace(flags, **dict.fromkeys(set(off) - {"U"}, False))
        self._at = found.end()
        if end == ":":
            self._groups.append(_Group(self._flags))
        self._flags = flags

    def _shut(self) -> None:
        self._at += 1
        if len(self._groups) == 1:
            raise PatternError("a parenthesis is closed that is not open")
        self._push(self._close())

    def _or(self) -> None:
        self._at += 1
        self._groups[-1].end_alternative()

    def _begins(self) -> None:
        self._look(Edge.LINE_BEGINS if self._flags.m else Edge.TEXT_BEGINS)

    def _ends(self) -> None:
        self._look(Edge.LINE_ENDS if self._flags.m else Edge.TEXT_ENDS)

    def _dot(self) -> None:
        self._at += 1
        self._consume(characters.ANY if self._flags.s else characters.ANY_BUT_NEWLINE)

    def _class(self) -> None:
        found, self._at = ClassParser(self._text, self._at, ignores_case=self._flags.i).bracketed()
        self._consume(found)

    def _sign(self) -> None:
        times_min, times_max = _COUNTS[self._text[self._at]]
        self._at += 1
        self._repeat(times_min, times_max)

    def _brace(self) -> None:
        found = _REPEAT.match(self._text, self._at)
        if found is None:
            self._at += 1
            self._literal("{")
            return
        least, comma, most = found.groups()
        times_min = int(least[:9])
        times_max = times_min if comma is None else None if most is None else int(most[:9])
        if max(times_min, times_max or 0) > _REPEATS_MAX or (times_max is not None and times_min > times_max):
            raise PatternError(f"{found[0]} is more than {_REPEATS_MAX}, or the wrong way round")
        self._at = found.end()
        self._repeat(times_min, times_max)

    def _repeat(self, times_min: int, times_max: int | None) -> None:
        if self._text.startswith("?", self._at):
            self._at += 1  # few rather than many: all the same when the whole text has to fit
        items = self._groups[-1].items
        if self._after_repeat or not items:
            raise PatternError("there is a repetition of nothing, or of a repetition")
        items[-1] = repeated(items[-1], times_min, times_max)

    def _escape(self) -> None:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in _EDGES:
            self._at += 1
            self._look(_EDGES[letter])
        elif letter == "Q":
            self._quote()
        else:
            found, self._at = ClassParser(self._text, self._at, ignores_case=self._flags.i).escaped()
            self._consume(found)

    def _quote(self) -> None:
        """\\Q…\\E, or to the end."""
        quoted, _, _ = self._text[self._at + 2 :].partition("\\E")
        self._at += len(quoted) + 4
        for character in paced(quoted):
            self._literal(character)


_STEPS: Final = {
    "(": _Parser._open,
    ")": _Parser._shut,
    "|": _Parser._or,
    "^": _Parser._begins,
    "$": _Parser._ends,
    ".": _Parser._dot,
    "[": _Parser._class,
    "*": _Parser._sign,
    "+": _Parser._sign,
    "?": _Parser._sign,
    "{": _Parser._brace,
    "\\": _Parser._escape,
}

"""What a pattern is turned into: instructions, most of them for one character, that are gone through from the first.

    Consume(set)       one character of this set is next
    Fork(a, b)         go on at both places
    Jump(a)            go on there
    Look(at)           go on if this is the beginning, the end, a word's edge
                       (the end of the program: the text fits)

Places are told from where the instruction stands, so that a part of a program may stand anywhere, and more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from ottla.re2.characters import CharSet

#: Without {n,m} no pattern has half as many, for it has at most 32,767 characters. RE2/J has no limit of its own, and
#: may run out of memory; RE2 in C++ has one of 8 MiB.
INSTRUCTIONS_MAX: Final = 100_000


class PatternError(ValueError):
    """This is no pattern, or one that is too large; the text says why."""


class Edge(Enum):
    """What `Look` looks for."""

    TEXT_BEGINS = "\\A"
    TEXT_ENDS = "\\z"
    LINE_BEGINS = "(?m)^"
    LINE_ENDS = "(?m)$"
    WORD = "\\b"
    NO_WORD = "\\B"


class Consume(NamedTuple):
    """One character of this set is next."""

    characters: CharSet


class Fork(NamedTuple):
    """Go on at both places."""

    one: int
    other: int


class Jump(NamedTuple):
    """Go on there."""

    to: int


class Look(NamedTuple):
    """Go on if this is such a place."""

    at: Edge


Instruction: TypeAlias = Consume | Fork | Jump | Look
#: One part of a program. It ends where it goes on behind its last instruction.
Part: TypeAlias = list[Instruction]


def in_order(parts: Sequence[Part]) -> Part:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    _check_size(sum(map(len, parts)))
    return [instruction for part in parts for instruction in part]


def one_of(parts: Sequence[Part]) -> Part:
    """Any of them."""
    if len(parts) == 1:
        return parts[0]
    size = sum(map(len, parts)) + 2 * (len(parts) - 1)
    _check_size(size)
    joined: Part = []
    for part in parts[:-1]:
        joined.append(Fork(1, len(part) + 2))
        joined += part
        joined.append(Jump(size - len(joined)))
    return joined + parts[-1]


def repeated(part: Part, times_min: int, times_max: int | None) -> Part:
    """So many times; None: without an end."""
    if times_max is None:
        return [*_times(part, times_min), Fork(1, len(part) + 2), *part, Jump(-len(part) - 1)]
    _check_size(times_max * (len(part) + 1))
    return _times(part, times_min) + [Fork(1, len(part) + 1), *part] * (times_max - times_min)


def _times(part: Part, times: int) -> Part:
    _check_size(len(part) * times)
    return part * times


def _check_size(size: int) -> None:
    if size > INSTRUCTIONS_MAX:
        raise PatternError(f"it stands for {size} instructions, more than {INSTRUCTIONS_MAX}; repeat less")

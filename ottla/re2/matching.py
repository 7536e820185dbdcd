"""A text against a program: character by character, in all places of the program where it may be at once.

Where that can be after a character is a state; a state knows the next one for each character that was seen there, so
that of many texts most characters cost one look. What is known is forgotten when it becomes too much. What it costs to
find out is counted over the life of a pattern, which is that of a request: what takes too long is `TooCostly`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from itertools import count
from typing import Final

from ottla.pacing import TooCostly, paced_each, yield_turn
from ottla.re2.characters import CharSet, has
from ottla.re2.parsing import parse
from ottla.re2.program import Consume, Edge, Fork, Instruction, Jump, Look

#: Places and next states that are remembered; some tens of megabytes.
_REMEMBERED_MAX: Final = 200_000
#: Places that are looked at to find new states: some ten seconds.
_LOOKS_MAX: Final = 10_000_000
_PLACES_PER_LOOK: Final = 256


class _Beside(Enum):
    """What stands on one side of a place in the text."""

    NOTHING = "the text begins or ends"
    LINE = "a newline"
    WORD = "a letter, a digit or _"
    OTHER = "something else"


_EDGES: Final[dict[Edge, Callable[[_Beside, _Beside], bool]]] = {
    Edge.TEXT_BEGINS: lambda before, _: before is _Beside.NOTHING,
    Edge.TEXT_ENDS: lambda _, after: after is _Beside.NOTHING,
    Edge.LINE_BEGINS: lambda before, _: before in (_Beside.NOTHING, _Beside.LINE),
    Edge.LINE_ENDS: lambda _, after: after in (_Beside.NOTHING, _Beside.LINE),
    Edge.WORD: lambda before, after: (before is _Beside.WORD) != (after is _Beside.WORD),
    Edge.NO_WORD: lambda before, after: (before is _Beside.WORD) == (after is _Beside.WORD),
}


class _State:
    """Where in the program one may be between two characters, before what stands next is known."""

    __slots__ = ("before", "fits", "next", "places")

    def __init__(self, places: frozenset[int], before: _Beside) -> None:
        self.places = places
        self.before = before
        self.next: dict[str, _State] = {}
        #: Whether the text may end here; None: nobody has asked.
        self.fits: bool | None = None


def _onward(place: int, step: Instruction) -> tuple[int, ...]:
    match step:
        case Fork(one, other):
            return place + one, place + other
        case Jump(to):
            return (place + to,)
        case Look():
            return (place + 1,)
        case Consume():
            return ()


class Pattern:
    """A regular expression in RE2's syntax. Raises `PatternError`."""

    def __init__(self, text: str) -> None:
        program = parse(text)
        #: The end of the program: the text fits.
        self._end = len(program)
        #: By place: where it is gone on from there without a character; only at which edges; which character is next.
        self._onward: list[tuple[int, ...]] = []
        self._edges: dict[int, Edge] = {}
        self._next: dict[int, CharSet] = {}
        for place, step in enumerate(paced_each(program, _PLACES_PER_LOOK)):
            self._onward.append(_onward(place, step))
            if isinstance(step, Consume):
                self._next[place] = step.characters
            elif isinstance(step, Look):
                self._edges[place] = step.at
        self._onward.append(())
        self._states: dict[tuple[frozenset[int], _Beside], _State] = {}
        self._remembered = 0
        self._looks_left = _LOOKS_MAX

    def matches(self, text: str) -> bool:
        """Whether all of the text fits. Raises `TooCostly`."""
        state = self._state(frozenset([0]), _Beside.NOTHING)
        for character in text:
            state = state.next.get(character) or self._step(state, character)
            if not state.places:
                return False
        if state.fits is None:
            state.fits = self._end in self._reachable(state, _Beside.NOTHING)
        return state.fits

    def _state(self, places: frozenset[int], before: _Beside) -> _State:
        state = self._states.get((places, before))
        if state is None:
            state = self._states[places, before] = _State(places, before)
            self._remember(len(places))
        return state

    def _remember(self, more: int) -> None:
        self._remembered += more
        if self._remembered > _REMEMBERED_MAX:
            for state in self._states.values():
                state.next.clear()
            self._states.clear()
            self._remembered = 0

    def _step(self, state: _State, character: str) -> _State:
        """The state after this character."""
        yield_turn()
        beside = self._beside(character)
        code = ord(character)
        places = self._reachable(state, beside) & self._next.keys()
        found = frozenset(place + 1 for place in paced_each(places, _PLACES_PER_LOOK) if has(self._next[place], code))
        after = self._state(found, beside)
        state.next[character] = after
        self._remember(1)
        return after

    def _beside(self, character: str) -> _Beside:
        if not self._edges:
            return _Beside.OTHER
        if character == "\n":
            return _Beside.LINE
        is_word = character.isascii() and (character.isalnum() or character == "_")
        return _Beside.WORD if is_word else _Beside.OTHER

    def _reachable(self, state: _State, after: _Beside) -> set[int]:
        """All places that can be gone on to without a character."""
        reached = set(state.places)
        open_places = list(reached)
        for looked_at in count(1):
            if not open_places:
                break
            if looked_at % _PLACES_PER_LOOK == 0:
                yield_turn()
            place = open_places.pop()
            if place in self._edges and not _EDGES[self._edges[place]](state.before, after):
                continue
            for onward in self._onward[place]:
                if onward not in reached:
                    reached.add(onward)
                    open_places.append(onward)
        self._looks_left -= len(reached)
        if self._looks_left < 0:
            raise TooCostly("a pattern for transactional ids takes too long to be held against them")
        return reached

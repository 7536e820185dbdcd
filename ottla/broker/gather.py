"""Several groups, one answer: what each of them says is collected, and given together when all have spoken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Gather:
    """Makes a token for each group asked; `done` is called once, with all answers, in the order of the tokens."""

    __slots__ = ("_answers", "_done", "_missing")

    def __init__(self, count: int, done: Callable[[list[Any]], None]) -> None:
        self._answers: list[Any] = [None] * count
        self._missing = count
        self._done = done
        if not count:
            done([])

    def token(self, index: int) -> Slot:
        """Who is to be answered by the group at this place."""
        return Slot(self, index)

    def put(self, index: int, answer: Any) -> None:
        self._answers[index] = answer
        self._missing -= 1
        if not self._missing:
            self._done(self._answers)


class Slot:
    """The token of one group in a `Gather`."""

    __slots__ = ("_gather", "_index")

    def __init__(self, gather: Gather, index: int) -> None:
        self._gather = gather
        self._index = index

    def answer(self, response: Any) -> None:
        self._gather.put(self._index, response)

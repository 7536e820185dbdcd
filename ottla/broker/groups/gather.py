"""Several groups, one answer: what each of them says is collected, and given together when all have spoken."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.broker.network.call import Call
    from ottla.protocol.primitives import Message


class Gather:
    """Makes a token for each group asked. `call` is answered with what `make` makes of all answers, in their order."""

    __slots__ = ("_answers", "_call", "_make", "_missing")

    def __init__(self, count: int, call: Call, make: Callable[[list[Any]], Message]) -> None:
        self._answers: list[Any] = [None] * count
        self._missing = count
        self._call = call
        self._make = make
        if not count:
            call.answer(make([]))

    def token(self, index: int) -> Slot:
        """Who is to be answered by the group at this place."""
        return Slot(self, index)

    def put(self, index: int, answer: Any) -> None:
        """Take in what one group says. The first answer counts."""
        if self._answers[index] is not None:
            return
        self._answers[index] = answer
        self._missing -= 1
        if not self._missing:
            self._call.answer_later(lambda: self._make(self._answers))


class Slot:
    """The token of one group in a `Gather`."""

    __slots__ = ("_gather", "_index")

    def __init__(self, gather: Gather, index: int) -> None:
        self._gather = gather
        self._index = index

    def answer(self, response: Any) -> None:
        self._gather.put(self._index, response)

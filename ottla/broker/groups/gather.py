"""Several groups, one answer: what each of them says is collected, and given together when all have spoken."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from ottla.protocol.primitives import Message

T = TypeVar("T")


class Asked(Protocol):
    """A request that is to be answered."""

    def answer(self, response: Message) -> None:
        """Give the answer."""

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        """Go on handling the request: it is answered with what `handle` returns."""


class Gather(Generic[T]):
    """Makes a token for each group asked. `call` is answered with what `make` makes of all answers, in their order."""

    __slots__ = ("_answers", "_call", "_count", "_make")

    def __init__(self, count: int, call: Asked, make: Callable[[list[T]], Message]) -> None:
        self._answers: dict[int, T] = {}
        self._count = count
        self._call = call
        self._make = make
        if not count:
            call.answer(make([]))

    def token(self, index: int) -> Slot[T]:
        """The token for the group at this place."""
        return Slot(self, index)

    def put(self, index: int, answer: T) -> None:
        """Take in what one group says. The first answer counts."""
        if index in self._answers:
            return
        self._answers[index] = answer
        if len(self._answers) == self._count:
            self._call.go_on(lambda: self._make([self._answers[place] for place in range(self._count)]))


class Slot(Generic[T]):
    """The token of one group in a `Gather`."""

    __slots__ = ("_gather", "_index")

    def __init__(self, gather: Gather[T], index: int) -> None:
        self._gather = gather
        self._index = index

    def answer(self, response: T) -> None:
        self._gather.put(self._index, response)

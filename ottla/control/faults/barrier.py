"""Requests and answers that wait until somebody lets them go.

A hold is a fault whose action keeps what it gets: before the request has any effect, or when it has and before its
answer leaves. What is held can be looked at, changed, and let go, refused or lost, each by itself and in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from ottla.broker.requests.subjects import values
from ottla.control.faults.keeping import How, Keeping, Kept
from ottla.control.faults.misuse import BadFault
from ottla.control.faults.passage import Action, Passage
from ottla.protocol.copying import changed, copied
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.broker.network.interception import InterceptedCall


class Side(Enum):
    """Where requests are held."""

    REQUEST = "request"
    """Before their effect."""
    ANSWER = "answer"
    """After it, before their answer."""


class Held(Kept):
    """A request that is held, or its answer."""

    def __init__(self, number: int, passage: Passage, side: Side, told: Callable[[Held], object]) -> None:
        super().__init__(number, told)
        self.side = side
        self._passage = passage

    @property
    def call(self) -> InterceptedCall:
        """Who asks."""
        return self._passage.call

    @property
    def what(self) -> str:
        return f"{self.api} of {self.client_id!r}"

    @property
    def at(self) -> str:
        return self.side.value

    @property
    def api(self) -> str:
        return self.call.route.name

    @property
    def client_id(self) -> str:
        return self.call.client_id

    @property
    def group_id(self) -> str | None:
        return next(values(self.call, "group"), None)

    @property
    def member_id(self) -> str | None:
        return next(values(self.call, "member"), None)

    @property
    def node_id(self) -> int:
        return self.call.node.node_id

    @property
    def request(self) -> Message:
        """As it will be handled, or was."""
        return self.call.request

    @property
    def answer(self) -> Message | None:
        """As it will leave; None for a request that has no answer, or none yet."""
        return self._passage.response

    @property
    def is_gone(self) -> bool:
        """Whether its client has closed the connection meanwhile."""
        return self.call.connection.is_closed

    def change(self, **fields: Any) -> None:
        """Give what is held other values. Raises `BadFault`, also if it is not held any more."""
        message = self.request if self.side is Side.REQUEST else self.answer
        if message is None:
            raise BadFault(f"{self.what} gets no answer that could be changed")
        for name in fields:
            if name not in message.__slots__:
                known = ", ".join(slot for slot in message.__slots__ if slot != "unknown_tagged_fields")
                raise BadFault(f"{type(message).__name__} has no field {name!r}; it has {known}")
        self.replace(changed(message, **fields))

    def replace(self, message: Message) -> None:
        """Have another message go on in its place, of the same kind. Raises `BadFault`."""
        self._check_held()
        former = self.request if self.side is Side.REQUEST else self.answer
        if type(message) is not type(former):
            raise BadFault(f"{type(former).__name__} is held, which no {type(message).__name__} can replace")
        if self.side is Side.REQUEST:
            self.call.request = message
        else:
            self._passage.response = message

    def refuse(self, error: ErrorCode) -> None:
        """Answer it with an error, in place of what is held."""
        self._decide(How.REFUSED)
        self._passage.refuse_later(error)

    def _go_on(self) -> None:
        self._passage.go_on_later()


class HoldBack(Action, Keeping[Held]):
    """Holds each request that it gets, or each answer."""

    def __init__(self, side: Side) -> None:
        super().__init__()
        self.text = f"hold the {side.value}"
        self.side = side

    def on_request(self, passage: Passage) -> None:
        self._pass(passage, Side.REQUEST)

    def on_answer(self, passage: Passage) -> None:
        self._pass(passage, Side.ANSWER)

    def removed(self) -> None:
        self.let_all_go()

    def _pass(self, passage: Passage, side: Side) -> None:
        if side is not self.side or self.is_removed:
            passage.go_on()
            return
        passage.call.request = copied(passage.call.request)
        if passage.response is not None:
            passage.response = copied(passage.response)
        self.keep(lambda number, told: Held(number, passage, side, told))

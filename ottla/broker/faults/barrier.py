"""Requests and answers that wait until somebody lets them go.

A hold is a fault whose action keeps what it gets: before the request has any effect, or when it has and before its
answer leaves. What is held can be looked at, changed, and let go, refused or lost, each by itself and in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from ottla.broker.faults.milestones import Milestones
from ottla.broker.faults.misuse import BadFault
from ottla.broker.faults.parts import changed
from ottla.broker.faults.passage import Action, Passage
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


class How(Enum):
    """What became of something that was held."""

    LET_GO = "let go"
    REFUSED = "refused"
    LOST = "lost"


class Held:
    """A request that is held, or its answer."""

    def __init__(self, number: int, passage: Passage, side: Side, told: Callable[[Held], object]) -> None:
        """`number`: counts what its hold has held, from 1. `told`: called when it is decided about."""
        self.number = number
        self.side = side
        #: None: it is held still.
        self.how: How | None = None
        self._passage = passage
        self._told = told

    @property
    def call(self) -> InterceptedCall:
        """Who asks."""
        return self._passage.call

    @property
    def api(self) -> str:
        return self.call.route.name

    @property
    def client_id(self) -> str:
        return self.call.client_id

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
            raise BadFault(f"{self.api} of {self.client_id!r} gets no answer that could be changed")
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

    def let_go(self) -> None:
        """Let it go on. Raises `BadFault` if it is not held any more."""
        self._decide(How.LET_GO)
        self._passage.go_on_later()

    def refuse(self, error: ErrorCode) -> None:
        """Answer it with an error, in place of what is held."""
        self._decide(How.REFUSED)
        self._passage.refuse_later(error)

    def lose(self) -> None:
        """Nothing more becomes of it."""
        self._decide(How.LOST)

    def _check_held(self) -> None:
        if self.how is not None:
            raise BadFault(f"{self.api} of {self.client_id!r} is not held any more: it was {self.how.value}")

    def _decide(self, how: How) -> None:
        self._check_held()
        self.how = how
        self._told(self)


class HoldBack(Action):
    """Holds each request that it gets, or each answer."""

    def __init__(self, side: Side) -> None:
        self.text = f"hold the {side.value}"
        self.side = side
        #: All that it has held, in the order in which they came, those that were let go among them.
        self.all: list[Held] = []
        #: Who is called when something is held or decided about.
        self.on_held: Callable[[Held], object] = lambda held: None
        self.on_decided: Callable[[Held], object] = lambda held: None
        #: Who waits until so many have been held since the beginning.
        self.milestones = Milestones()
        self._is_removed = False

    @property
    def waiting(self) -> list[Held]:
        """What is held now, in the order in which it came."""
        return [held for held in self.all if held.how is None]

    def on_request(self, passage: Passage) -> None:
        if self.side is Side.REQUEST:
            self._hold(passage)
        else:
            passage.go_on()

    def on_answer(self, passage: Passage) -> None:
        if self.side is Side.ANSWER:
            self._hold(passage)
        else:
            passage.go_on()

    def removed(self) -> None:
        """Let everything go, and hold nothing more."""
        self._is_removed = True
        for held in self.waiting:
            held.let_go()

    def _hold(self, passage: Passage) -> None:
        if self._is_removed:
            passage.go_on()
            return
        held = Held(len(self.all) + 1, passage, self.side, self.on_decided)
        self.all.append(held)
        self.on_held(held)
        self.milestones.reached(len(self.all))

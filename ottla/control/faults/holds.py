"""What is held until a test or a script decides about it: requests, answers, deadlines, appends.

A hold is a fault whose action is a `Hold`: it keeps what the fault hits. Each thing that is held can be let go, refused
or lost by itself and in any order; a request and an answer can be changed first. The hook that stops something says how
it goes on, and the row of its target (`targets`) what can't be done to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from ottla.control.faults.exchange import Action, Exchange, RequestAction
from ottla.control.faults.milestones import Milestones
from ottla.control.faults.misuse import BadFault
from ottla.protocol.copying import changed, copied
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ottla.control.faults.occurrence import Hit
    from ottla.protocol.primitives import Message


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


@dataclass(slots=True, eq=False)
class Held:
    """Something that is held, or was: how it is told, and how it goes on."""

    hit: Hit
    what: str
    """How it is told, such as "SyncGroup of 'ana'"."""
    at: str
    """Where it is held: "request", "answer", "append", or the word for a deadline."""
    go_on: Callable[[], object]
    refused: Callable[[ErrorCode], object] | None = None
    """Answers with an error in place of going on."""
    is_void: Callable[[], bool] = lambda: False
    exchange: Exchange | None = None
    """The request, if it is one or the answer to one."""
    hold: Hold = field(init=False)
    number: int = field(init=False)
    """Counts what its hold has held, from 1."""
    how: How | None = field(init=False, default=None)
    """What became of it; None: it is held still."""

    @property
    def is_gone(self) -> bool:
        """Whether letting it go has no effect any more: its client has gone, or its deadline has become void."""
        return self.is_void()

    @property
    def request(self) -> Message | None:
        """As it will be handled, or was."""
        return None if self.exchange is None else self.exchange.call.request

    @property
    def answer(self) -> Message | None:
        """As it will leave; None for a request that has no answer, or none yet."""
        return None if self.exchange is None else self.exchange.response

    def let_go(self) -> None:
        """Let it go. Raises `BadFault` if it is not held any more."""
        self._decide(How.LET_GO)
        self.go_on()

    def lose(self) -> None:
        """Have it go no further. Raises `BadFault`."""
        self._check_possible("lose")
        self._decide(How.LOST)

    def refuse(self, error: ErrorCode) -> None:
        """Answer it with an error, in place of what is held. Raises `BadFault`."""
        self._check_possible("refuse")
        if self.exchange is None and error is ErrorCode.NONE:
            raise BadFault(f"{self.what} can't be refused with NONE; let it go")
        assert self.refused is not None, "it can be refused"
        self._decide(How.REFUSED)
        self.refused(error)

    def change(self, **fields: Any) -> None:
        """Give the request, or the answer, other values. Raises `BadFault`."""
        if not fields:
            return
        message = self._message()
        if message is None:
            raise BadFault(f"{self.what} gets no answer that could be changed")
        for name in fields:
            if name not in message.__slots__:
                known = ", ".join(slot for slot in message.__slots__ if slot != "unknown_tagged_fields")
                raise BadFault(f"{type(message).__name__} has no field {name!r}; it has {known}")
        self.replace(changed(message, **fields))

    def replace(self, message: Message) -> None:
        """Have another message go on in its place, of the same kind. Raises `BadFault`."""
        former, exchange = self._message(), self.exchange
        self._check_held()
        if type(message) is not type(former):
            raise BadFault(f"{type(former).__name__} is held, which no {type(message).__name__} can replace")
        assert exchange is not None, "it has a message"
        if self.at == Side.REQUEST.value:
            exchange.call.request = message
        else:
            exchange.response = message

    def _message(self) -> Message | None:
        self._check_possible("change")
        return self.request if self.at == Side.REQUEST.value else self.answer

    def _check_possible(self, what: str) -> None:
        if (reason := self.hold.impossible.get(what)) is not None:
            raise BadFault(f"{self.what} {reason}")

    def _check_held(self) -> None:
        if self.how is not None:
            raise BadFault(f"{self.what} is not held any more: it was {self.how.value}")

    def _decide(self, how: How) -> None:
        self._check_held()
        self.how = how
        self.hold.on_change(self)


class Hold(Action):
    """Holds each thing that it gets."""

    text = "hold it"

    def __init__(self, impossible: Mapping[str, str] | None = None) -> None:
        """`impossible`: why what it holds can't be refused, lost or changed, by "refuse", "lose" and "change"."""
        self.impossible: Mapping[str, str] = impossible or {}
        #: All that it has held, in the order in which they came, those that were let go among them.
        self.all: list[Held] = []
        #: Called with each thing that is held, and again when it is decided about, before it goes on.
        self.on_change: Callable[[Held], object] = lambda held: None
        #: Calls that are due when so many have been held since the beginning.
        self.milestones = Milestones()
        self.is_removed = False

    @property
    def waiting(self) -> list[Held]:
        """All that is held now, in the order of arrival."""
        return [held for held in self.all if held.how is None]

    def keep(self, held: Held) -> Held:
        """Hold this until it is decided about."""
        held.hold, held.number = self, len(self.all) + 1
        self.all.append(held)
        self.on_change(held)
        self.milestones.reached(len(self.all))
        return held

    def removed(self) -> None:
        """Let everything go, and hold nothing more."""
        self.is_removed = True
        for held in self.waiting:
            held.let_go()


class HoldRequest(RequestAction, Hold):
    """Holds each request that it gets, or each answer."""

    def __init__(self, side: Side) -> None:
        super().__init__()
        self.text = f"hold the {side.value}"
        self._side = side

    def on_request(self, exchange: Exchange) -> None:
        self._pass(exchange, Side.REQUEST)

    def on_answer(self, exchange: Exchange) -> None:
        self._pass(exchange, Side.ANSWER)

    def _pass(self, exchange: Exchange, side: Side) -> None:
        if side is not self._side or self.is_removed:
            exchange.go_on()
            return
        call = exchange.call
        call.request = copied(call.request)
        if exchange.response is not None:
            exchange.response = copied(exchange.response)
        what = f"{call.route.name} of {call.client_id!r}"
        go_on, refused = exchange.go_on_later, exchange.refuse_later
        self.keep(
            Held(exchange.hit, what, side.value, go_on, refused, lambda: call.connection.is_closed, exchange=exchange)
        )

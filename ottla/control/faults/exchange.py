"""A request on its way through the faults that hit it, and its answer on the way back.

    request ─▶ first fault ─▶ second ─▶ … ─▶ handler
                                               │
    client  ◀─ … ◀─ second ◀─ first fault ◀─ answer

Each action of each fault has it in turn. The action hands it on (`go_on`), at once or later; or answers it itself; or
does nothing more with it, and then it is lost. Answers pass through the actions in the same order, those that an action
has given, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.broker.network.interception import InterceptedCall
    from ottla.control.faults.occurrence import Hit


class Action:
    """What a fault does to the things that it hits. One object serves all of them."""

    #: How it is described in the text of its fault.
    text = ""

    def removed(self) -> None:
        """The fault is removed: whatever waits is to be let go."""


class RequestAction(Action):
    """What a fault does to a request, or to its answer."""

    def on_request(self, exchange: Exchange) -> None:
        """The request is here, and has had no effect."""
        exchange.go_on()

    def on_answer(self, exchange: Exchange) -> None:
        """Its effect is there, and its answer is `exchange.response`; None: it gets none."""
        exchange.go_on()


class Exchange:
    """One request with its answer, and the actions that they go through."""

    __slots__ = ("_actions", "_is_back", "_next", "call", "hit", "notes", "response")

    def __init__(self, call: InterceptedCall, hit: Hit, actions: Sequence[RequestAction]) -> None:
        """`hit`: what the faults were told of the request."""
        self.call = call
        self.hit = hit
        self.response: Message | None = None
        #: What actions remember from the request until its answer, each under itself.
        self.notes: dict[RequestAction, Any] = {}
        self._actions = actions
        self._next = 0
        self._is_back = False

    def go_on(self) -> None:
        """Hand it to the next action; after the last one to its handler, or to its client."""
        place, self._next = self._next, self._next + 1
        if place < len(self._actions):
            action = self._actions[place]
            if self._is_back:
                action.on_answer(self)
            else:
                action.on_request(self)
        elif self._is_back:
            self.call.leave(self.response)
        else:
            self.call.proceed()

    def go_on_later(self) -> None:
        """The same when the request is not being handled just now, as from a timer: what is raised is answered."""
        try:
            self.go_on()
        except Exception as error:
            self.call.fail_by(error)

    def come_back(self, response: Message | None) -> None:
        """This is the answer."""
        self._is_back, self._next, self.response = True, 0, response
        self.go_on()

    def refuse(self, error: ErrorCode) -> None:
        """Answer with an error, in the form that the API has for it."""
        self.come_back(self.call.route.refuse(self.call.request, error))

    def refuse_later(self, error: ErrorCode) -> None:
        """The same when the request is not being handled just now. An answer that is there already is replaced."""
        try:
            response = self.call.route.refuse(self.call.request, error)
            if self._is_back:
                self.response = response
                self.go_on()
            else:
                self.come_back(response)
        except Exception as raised:
            self.call.fail_by(raised)

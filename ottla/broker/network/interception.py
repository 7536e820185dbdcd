"""A seam between connections and handlers: an interceptor decides about each request, and about its answer.

    connection ─▶ Interceptor.request ─▶ proceed ─▶ handler ─▶ group, purgatory, …
                                                                      │
    connection ◀─ leave ◀─ Interceptor.answer ◀───────── answer ◀─────┘

It is there for faults. `request` may hand the request on, now or later, or answer it itself, or do nothing: then it is
lost. `answer` may let the answer leave, now or later, or another one, or its first bytes; or do nothing. Both may close
or reset the connection. A request that is not dealt with yet holds back what comes behind it on its connection, as any
request does that takes time.

Without an interceptor none of this is loaded: a route's `handle` is the handler itself. With one it is `intercepting`
that handler, from the next request on (`Routes.intercept`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from ottla.broker.network.call import Call
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Message


class Interceptor(Protocol):
    """Steps in. Called in the event loop. It changes neither requests nor answers, for others may be given them, too.

    What it needs to know stands on the call: `route.name`, `api_version`, `client_id`, `client_host`, `principal`,
    `listener_name`, `node`, `connection` and the decoded `request`.
    """

    def request(self, call: InterceptedCall) -> None:
        """A request has come. What raises is answered UNKNOWN_SERVER_ERROR."""

    def answer(self, call: InterceptedCall, response: Message | None) -> None:
        """Its answer is there; None: it gets none, as Produce with acks=0. Not called for what fails within Ottla."""


def intercepting(
    handler: Callable[[Message, Call], Message | None], interceptor: Interceptor
) -> Callable[[Message, Call], None]:
    """A handler that asks the interceptor first."""

    def handle(_request: Message, call: Call) -> None:
        InterceptedCall(call, handler, interceptor).begin()

    return handle


class _StandIn(Call):
    """What handlers get in place of another call: what is long for that one is long for this."""

    __slots__ = ("is_brief",)

    def __init__(self, own: Call) -> None:
        super().__init__(own.connection, own.route, own.correlation_id, own.client_id, own.request)
        self.is_brief = own.is_brief

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        if self.is_brief:
            super().go_on(handle)
        else:
            self.connection.pace.run(partial(super().go_on, handle))


class InterceptedCall(_StandIn):
    """What handlers get in place of the connection's own call, and what an interceptor decides about."""

    __slots__ = ("_handler", "_has_begun", "_interceptor", "_is_answered", "_own", "kept")

    def __init__(self, own: Call, handler: Callable[[Message, Call], Message | None], interceptor: Interceptor) -> None:
        super().__init__(own)
        self._own = own
        self._handler = handler
        self._interceptor = interceptor
        self._has_begun = False
        self._is_answered = False
        #: What the interceptor keeps from the request until its answer.
        self.kept: Any = None
        own.on_abandoned, own.on_ended = self._abandoned, self._ended

    def begin(self) -> None:
        """Ask the interceptor what becomes of the request."""
        self._interceptor.request(self)
        if not self._has_begun and self._own.answered is None:
            self.connection.wait_for_answers()

    # --- for interceptors ---

    def proceed(self) -> None:
        """Hand the request to its handler."""
        self._has_begun = True
        try:
            response = self._handler(self.request, self)
        except Exception as error:
            self.fail_by(error)
        else:
            if response is not None:
                self.answer(response)

    def refuse(self, error_code: ErrorCode) -> None:
        """Answer with this error, in the form the API has for it, whatever the handler says."""
        self.leave(self.route.refuse(self.request, error_code))

    def leave(self, response: Message | None) -> None:
        """Let this answer leave when it is its turn, in the form of `route`; None: none is due."""
        self._own.route = self.route  # which an interceptor may have changed
        if response is None:
            self._own.answer_nothing()
        else:
            self._own.answer(response)

    def leave_part(self, response: Message, bytes_count: int, *, reset: bool = False) -> None:
        """Let so many bytes of the frame with this answer leave when it is its turn, and then end the connection: by
        closing it, or by a reset. With 0 bytes it ends before the answer, with all of them after it.
        """
        self._own.answer_part(response, bytes_count)
        self.connection.end_behind(self._own, reset=reset)

    def frame(self, response: Message) -> bytes:
        """The bytes that this answer leaves as."""
        return b"".join(self._own.encode(response))

    def send_ahead(self, part: bytes) -> bool:
        """Send the first bytes of an answer; the rest has to follow with `leave_bytes`. False: it is not its turn."""
        return self.connection.send_ahead(self._own, part)

    def leave_bytes(self, rest: bytes) -> None:
        """Let these bytes leave, as the answer or the rest of it, when it is its turn."""
        self._own.answered, self._own.answer_bytes = [rest], len(rest)
        self.connection.emit(self._own)

    def rehearse(self, then: Callable[[], object]) -> None:
        """Have the handler deal with the request, lose its answer, and call `then` when that is there."""
        rehearsal = Rehearsal(self, then)
        self.on_abandoned = rehearsal.abandoned
        try:
            response = self._handler(self.request, rehearsal)
        except Exception as error:
            self.fail_by(error)
        else:
            if response is not None:
                rehearsal.answer(response)

    # --- for handlers ---

    def answer(self, response: Message) -> None:
        self._decide(response)

    def answer_nothing(self) -> None:
        self._decide(None)

    def fail(self, unwritten: Message | None = None) -> None:
        self._is_answered = True
        self._own.fail(unwritten)

    def _decide(self, response: Message | None) -> None:
        if self._is_answered:
            return
        self._is_answered = True
        try:
            self._interceptor.answer(self, response)
        except Exception:
            self._own.fail()

    # --- for the connection ---

    def _abandoned(self) -> None:
        if self.on_abandoned is not None:
            self.on_abandoned()

    def _ended(self) -> None:
        if self.on_ended is not None:
            self.on_ended()


class Rehearsal(_StandIn):
    """What a handler gets whose answer is to be lost."""

    __slots__ = ("_is_over", "_then")

    def __init__(self, call: Call, then: Callable[[], object]) -> None:
        super().__init__(call)
        self._then = then
        self._is_over = False

    def abandoned(self) -> None:
        """The client has gone meanwhile."""
        self._is_over = True
        if self.on_abandoned is not None:
            self.on_abandoned()

    def answer(self, response: Message) -> None:
        self.answer_nothing()

    def fail(self, unwritten: Message | None = None) -> None:
        self.answer_nothing()

    def answer_nothing(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._then()

"""A call: one request on its way to its answer.

The connection makes it from a frame, a handler gets it beside the decoded request, and whoever can answer calls
`answer`, now or later, from wherever it happens: the handler itself, a group's task, an operation in a purgatory. The
answer is encoded on the spot and leaves when it is its turn on the connection.

Answering never raises: an answer that can't be encoded, like any other failure of ours, is logged, and the client is
told UNKNOWN_SERVER_ERROR in the form of its request. Kafka: RequestHandlerHelper.handleError.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.broker.network.limits import JOINED_ANSWER_BYTES_MAX, PART_BYTES_MIN
from ottla.pacing import ANSWER_BYTES_MAX, TooCostly, costs, fail_long_answer, own_bytes
from ottla.protocol.errors import ErrorCode
from ottla.protocol.headers import RESPONSE_HEADER, RESPONSE_HEADER_TAGGED
from ottla.protocol.primitives import STRING_BYTES_MAX, Buffer, Message

if TYPE_CHECKING:
    from ottla.broker.authorizer import Authorizer, Principal
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.routes import Route
    from ottla.broker.node import BrokerNode


_LONG_TEXT: Final = "the answer would have a text of more than 32,767 bytes"


class CloseConnection(Exception):
    """Raised by a handler where Kafka gives no answer and closes the connection. The text goes to the log."""


class Call:
    """One request: who asks, in which version, and the way back.

    `answered` is None until the answer is there; then its encoded parts, empty when the request gets none (Produce with
    acks=0), of `answer_bytes` together. For those who would rather not wait for somebody who may be gone: `on_ended` is
    called when the client says that it will send nothing more, `on_abandoned` when the connection is lost. `is_brief`:
    neither handling nor answering it is long work.
    """

    __slots__ = (
        "answer_bytes",
        "answered",
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "is_brief",
        "node",
        "on_abandoned",
        "on_ended",
        "request",
        "route",
    )

    def __init__(
        self, connection: Connection, route: Route, correlation_id: int, client_id: str, request: Message
    ) -> None:
        self.connection = connection
        self.node: BrokerNode = connection.node
        self.route = route
        self.api_version = route.version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.request = request
        self.is_brief = True
        self.answered: list[Buffer] | None = None
        self.answer_bytes = 0
        self.on_abandoned: Callable[[], object] | None = None
        self.on_ended: Callable[[], object] | None = None

    @property
    def listener_name(self) -> str:
        """The listener the client has connected to; it is told the addresses of that one."""
        return self.connection.listener.name

    @property
    def principal(self) -> Principal:
        """Who the client is."""
        return self.connection.principal

    @property
    def authorizer(self) -> Authorizer:
        """Who says what it may do."""
        return self.connection.listener.authorizer

    @property
    def client_host(self) -> str:
        """The client's address as Kafka writes it, with a leading slash."""
        return self.connection.client_host

    def answer(self, response: Message) -> None:
        """Give the answer. The first one counts; after the connection is gone it does nothing."""
        if not self.is_brief:
            self.connection.pace.run(partial(self._answer, response))
        elif self.answered is None:  # `_answer` without its call, which each request would pay for
            try:
                self.answered = self._encode(response)
            except Exception:
                self._answer(response)  # fails again, and says so
            else:
                self.connection.emit(self)

    def _answer(self, response: Message) -> None:
        if self.answered is not None:
            return
        try:
            self.answered = self._encode(response)
        except TooCostly as costly:
            self._refuse_costly(costly)
        except Exception:
            self.fail(unwritten=response)
        else:
            self.connection.emit(self)

    def answer_later(self, make: Callable[[], Message]) -> None:
        """Give the answer that `make` returns, now that what was waited for is there. It may raise as a handler may."""
        if self.is_brief:
            self._make(make)
        else:
            self.connection.pace.run(partial(self._make, make))

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        """Go on handling the request, now that what was waited for is there; as a handler, it may leave the answer for
        later, and it may raise.
        """
        if self.is_brief:
            self._go_on(handle)
        else:
            self.connection.pace.run(partial(self._go_on, handle))

    def _go_on(self, handle: Callable[[], Message | None]) -> None:
        try:
            response = handle()
        except CloseConnection as close:
            self.connection.refuse(str(close))
        except TooCostly as costly:
            self._refuse_costly(costly)
        except Exception:
            self.fail()
        else:
            if response is not None:
                self.answer(response)

    def _make(self, make: Callable[[], Message]) -> None:
        try:
            response = make()
        except TooCostly as costly:
            self._refuse_costly(costly)
        except Exception:
            self.fail()
        else:
            self.answer(response)

    def _refuse_costly(self, costly: TooCostly) -> None:
        self.connection.refuse(f"{self.route.name} v{self.api_version} would be answered with too much: {costly}")

    def answer_part(self, response: Message, bytes_count: int) -> None:
        """Give the first so many bytes of the answer; whoever wants that has to end the connection behind them."""
        part = b"".join(self._encode(response))[:bytes_count]
        self.answered, self.answer_bytes = [part] if part else [], len(part)

    def answer_nothing(self) -> None:
        """The request is dealt with and gets no answer, as Produce with acks=0."""
        self.answered = []
        self.connection.emit(self)

    def fail(self, unwritten: Message | None = None) -> None:
        """Something of ours has raised: log it, and answer UNKNOWN_SERVER_ERROR if there is no answer yet.

        For `except` blocks. `unwritten`: the answer, if it was there and could not be written.
        """
        connection, log = self.connection, self.connection.log
        api, api_version = self.route.name, self.api_version
        is_clients_fault = unwritten is not None and has_long_text(unwritten)
        if not is_clients_fault:
            log.exception("request.failed", api=api, api_version=api_version)
        if self.answered is not None:
            return
        try:
            self.answered = self._encode(self.route.refuse(self.request, ErrorCode.UNKNOWN_SERVER_ERROR))
        except CloseConnection as close:
            connection.refuse(str(close))
        except Exception as error:
            connection.refuse(f"{api} v{api_version} cannot be answered: {error}")
        else:
            if is_clients_fault:
                log.warning("request.refused", api=api, api_version=api_version, reason=_LONG_TEXT)
            connection.emit(self)

    def _encode(self, response: Message) -> list[Buffer]:
        route = self.route
        if response is route.last_answer:
            body = route.last_body
            self.answer_bytes = len(body)
            return [self._header(len(body)) + body]
        parts: list[Buffer] = [b""]
        if (spent := costs()) is not None:
            spent.begin_answer()
        route.write(response, parts)
        self.answer_bytes = size = sum(map(len, parts))
        if size > ANSWER_BYTES_MAX and own_bytes(parts) > ANSWER_BYTES_MAX:
            fail_long_answer()
        if route.repeats:
            route.last_answer, route.last_body = response, b"".join(parts)
        parts[0] = self._header(size)
        if size < JOINED_ANSWER_BYTES_MAX or size < PART_BYTES_MIN * len(parts):
            return [b"".join(parts)]
        return parts

    def _header(self, body_bytes: int) -> bytes:
        if self.route.answer_header_tagged:
            return RESPONSE_HEADER_TAGGED.pack(body_bytes + 5, self.correlation_id)
        return RESPONSE_HEADER.pack(body_bytes + 4, self.correlation_id)


def has_long_text(value: object) -> bool:
    """Whether a message has a text that is longer than a field can hold.

    It is one of the client's, which an answer repeats: within a sentence, or longer than it came, for each byte that is
    not UTF-8 is read as a character of three.
    """
    if isinstance(value, str):
        return len(value.encode()) > STRING_BYTES_MAX
    if isinstance(value, list):
        return any(map(has_long_text, value))
    return isinstance(value, Message) and any(has_long_text(getattr(value, name)) for name in value.__slots__)

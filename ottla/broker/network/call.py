"""A call: one request on its way to its answer.

The connection makes it from a frame, a handler gets it beside the decoded request. The part that has the answer calls
`answer`, now or later: the handler itself, or a group's task. A request that waits parks an operation in a purgatory
(`delayed.request`), which goes on with the call. The answer is encoded on the spot and leaves when it is its turn on
the connection.

Answering never raises: an answer that can't be encoded, like any other failure of ours, is told, and the client is
told UNKNOWN_SERVER_ERROR in the form of its request. Kafka: RequestHandlerHelper.handleError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from ottla.broker.network.limits import (
    JOINED_ANSWER_BYTES_MAX,
    KEPT_ANSWER_BYTES_MAX,
    KEPT_ANSWERS_MAX,
    PART_BYTES_MIN,
)
from ottla.events.kind import Kind
from ottla.pacing import ANSWER_BYTES_MAX, TooCostly, costs, fail_long_answer, own_bytes
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import STRING_BYTES_MAX, Buffer, Message

if TYPE_CHECKING:
    from ottla.broker.network.route import Route
    from ottla.broker.node.broker_node import BrokerNode
    from ottla.pacing import Pace
    from ottla.security.authorizer import Authorizer, Principal


_LONG_TEXT: Final = "the answer would have a text of more than 32,767 bytes"


class CloseConnection(Exception):
    """Raised by a handler where Kafka gives no answer and closes the connection. The text goes to the log."""


class CallRecorder(Protocol):
    """Keeps calls, and what they are answered."""

    def take(self, call: Call, /) -> Any:
        """A request has come; returns what `answered` is given with its answer."""

    def answered(self, taken: Any, response: Message | None, /) -> None:
        """It has its answer; None: it is dealt with and gets none."""


class CallListener(Protocol):
    """What a call knows of the listener."""

    name: str
    authorizer: Authorizer

    @property
    def recorder(self) -> CallRecorder | None:
        """What keeps its calls; None: nothing does."""


class CallConnection(Protocol):
    """What a call knows of the connection it has come by, and so do all parts that have the call."""

    node: BrokerNode
    client_host: str
    client_port: int
    #: What the client has said of itself.
    client_id: str | None
    client_software: str
    principal: Principal
    pace: Pace

    @property
    def listener(self) -> CallListener:
        """Where it connected to."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing more will leave."""

    @property
    def peer(self) -> tuple[str, int]:
        """The client's host and port; "" and 0 when it was gone before it was asked for."""

    def add_closed_callback(self, callback: Callable[[Any], object], /) -> None:
        """Call this with the connection when it is gone."""

    def remove_closed_callback(self, callback: Callable[[Any], object], /) -> None:
        """Do not call it any more."""

    def emit(self, answered: Call, /) -> None:
        """The call has its answer."""

    def send_ahead(self, call: Call, part: bytes, /) -> bool:
        """Send the beginning of an answer that is not given yet; False: it is not its turn, or the client is gone."""

    def wait_for_answers(self) -> None:
        """Take up nothing more until all that was taken up is answered."""

    def end_behind(self, last: Call, *, reset: bool) -> None:
        """Close, or break off, when what is given of this call's answer has left."""

    def refuse(self, reason: str) -> None:
        """Close because of something the client sent, and say why."""

    def close(self) -> None:
        """Close when what is written has left."""

    def reset(self) -> None:
        """Break the connection off as a process that crashes does."""


class Call:
    """One request: its client, its version, and the way back.

    `answered` is None until the answer is there; then its encoded parts, empty when the request gets none (Produce with
    acks=0), of `answer_bytes` together. A request that waits need not wait for a client that is gone: `on_ended` is
    called when the client says that it will send nothing more, `on_abandoned` when the connection is lost.
    """

    #: Whether neither handling nor answering it is long work.
    is_brief = True
    #: Whether each call is told or kept; else a request may be answered without a call.
    is_watched = False

    __slots__ = (
        "answer_bytes",
        "answered",
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "node",
        "on_abandoned",
        "on_ended",
        "request",
        "route",
    )

    def __init__(
        self, connection: CallConnection, route: Route, correlation_id: int, client_id: str, request: Message
    ) -> None:
        self.connection = connection
        self.node: BrokerNode = connection.node
        self.route = route
        self.api_version = route.version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.request = request
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
        """The name and kind that the client is known by."""
        return self.connection.principal

    @property
    def authorizer(self) -> Authorizer:
        """What says what the client may do."""
        return self.connection.listener.authorizer

    @property
    def client_host(self) -> str:
        """The client's address as Kafka writes it, with a leading slash."""
        return self.connection.client_host

    def answer(self, response: Message) -> None:
        """Give the answer. The first one counts; after the connection is gone it does nothing."""
        if self.answered is not None:
            return
        try:
            self.answered = self.encode(response)
        except TooCostly as costly:
            self._refuse_costly(costly)
        except Exception:
            self.fail(unwritten=response)
        else:
            self.connection.emit(self)

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        """Go on handling the request, now that what was waited for is there; as a handler, it may leave the answer for
        later, and it may raise.
        """
        try:
            response = handle()
        except Exception as error:
            self.fail_by(error)
        else:
            if response is not None:
                self.answer(response)

    def _refuse_costly(self, costly: TooCostly) -> None:
        self.connection.refuse(f"{self.route.name} v{self.api_version} would be answered with too much: {costly}")

    def answer_part(self, response: Message, bytes_count: int) -> None:
        """Give the first so many bytes of the answer. The caller has to end the connection behind them."""
        part = b"".join(self.encode(response))[:bytes_count]
        self.answered, self.answer_bytes = [part] if part else [], len(part)

    def answer_nothing(self) -> None:
        """The request is dealt with and gets no answer, as Produce with acks=0."""
        self.answered = []
        self.connection.emit(self)

    def fail_by(self, error: Exception) -> None:
        """Its handler has raised this. For `except` blocks."""
        if isinstance(error, CloseConnection):
            self.connection.refuse(str(error))
        elif isinstance(error, TooCostly):
            self.connection.refuse(f"{self.route.name} v{self.api_version} costs too much: {error}")
        else:
            self.fail()

    def fail(self, unwritten: Message | None = None) -> None:
        """Something of ours has raised: tell it, and answer UNKNOWN_SERVER_ERROR if there is no answer yet.

        For `except` blocks. `unwritten`: the answer, if it was there and could not be written.
        """
        connection, api, api_version = self.connection, self.route.name, self.api_version
        tell = partial(self.node.events.tell, node_id=self.node.node_id, api=api, api_version=api_version)
        is_clients_fault = unwritten is not None and has_long_text(unwritten)
        if not is_clients_fault:
            tell(Kind.REQUEST_FAILED, raised=sys.exception())
        if self.answered is not None:
            return
        try:
            self.answered = self.encode(self.route.refuse(self.request, ErrorCode.UNKNOWN_SERVER_ERROR))
        except CloseConnection as close:
            connection.refuse(str(close))
        except Exception as error:
            connection.refuse(f"{api} v{api_version} cannot be answered: {error}")
        else:
            if is_clients_fault:
                tell(Kind.REQUEST_REFUSED, reason=_LONG_TEXT)
            connection.emit(self)

    def encode(self, response: Message) -> list[Buffer]:
        """The parts of the frame with this answer, of `answer_bytes` together."""
        route = self.route
        if (kept := route.bodies.get(id(response))) is not None:
            _, body, self.answer_bytes, claimed = kept
            return [route.pack_header(claimed, self.correlation_id) + body]
        parts: list[Buffer] = [b""]
        if (spent := costs()) is not None:
            spent.begin_answer(parts)
        route.write(response, parts)
        self.answer_bytes = size = sum(map(len, parts))
        if size > ANSWER_BYTES_MAX and own_bytes(parts) > ANSWER_BYTES_MAX:
            fail_long_answer()
        if route.repeats and size <= KEPT_ANSWER_BYTES_MAX:
            if len(route.bodies) >= KEPT_ANSWERS_MAX:
                route.bodies.clear()
            # It has its id as long as it is kept here.
            route.bodies[id(response)] = response, b"".join(parts), size, size + route.header_bytes
        parts[0] = route.pack_header(size + route.header_bytes, self.correlation_id)
        if size < JOINED_ANSWER_BYTES_MAX or size < PART_BYTES_MIN * len(parts):
            return [b"".join(parts)]
        return parts


class LongCall(Call):
    """A call whose answer, too, may take long to make and to encode: a fiber does it."""

    __slots__ = ()

    is_brief = False

    def answer(self, response: Message) -> None:
        self.connection.pace.run(partial(super().answer, response))

    def go_on(self, handle: Callable[[], Message | None]) -> None:
        self.connection.pace.run(partial(super().go_on, handle))


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

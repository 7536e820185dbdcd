"""A call: one request on its way to its answer.

The connection makes it from a frame, a handler gets it beside the decoded request, and whoever can answer calls
`answer`, now or later, from wherever it happens: the handler itself, a group's task, an operation in a purgatory. The
answer is encoded on the spot and leaves when it is its turn on the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.broker.limits import JOINED_ANSWER_BYTES_MAX
from ottla.protocol.headers import RESPONSE_HEADER, RESPONSE_HEADER_TAGGED
from ottla.protocol.primitives import Buffer, Message

if TYPE_CHECKING:
    from ottla.broker.connection import Connection
    from ottla.broker.node import Node
    from ottla.broker.routes import Route


class CloseConnection(Exception):
    """Raised by a handler where Kafka gives no answer and closes the connection. The text goes to the log."""


class Call:
    """One request: who asks, in which version, and the way back.

    `answered` is None until the answer is there; then its encoded parts, empty when the request gets none (Produce with
    acks=0). `on_abandoned` is called when the connection goes away first, for those who would rather not wait in vain.
    """

    __slots__ = ("answered", "api_version", "client_id", "connection", "correlation_id", "on_abandoned", "route")

    def __init__(self, connection: Connection, route: Route, correlation_id: int, client_id: str) -> None:
        self.connection = connection
        self.route = route
        self.api_version = route.version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.answered: list[Buffer] | None = None
        self.on_abandoned: Callable[[], None] | None = None

    @property
    def node(self) -> Node:
        """The node the client is connected to."""
        return self.connection.node

    @property
    def client_host(self) -> str:
        """The client's address as Kafka writes it, with a leading slash."""
        return self.connection.client_host

    def answer(self, response: Message) -> None:
        """Give the answer. Must be called once; after the connection is gone it does nothing."""
        route = self.route
        parts: list[Buffer] = [b""]
        route.write(response, parts)
        size = sum(map(len, parts))
        if route.answer_header_tagged:
            parts[0] = RESPONSE_HEADER_TAGGED.pack(size + 5, self.correlation_id)
        else:
            parts[0] = RESPONSE_HEADER.pack(size + 4, self.correlation_id)
        self.answered = [b"".join(parts)] if size < JOINED_ANSWER_BYTES_MAX else parts
        self.connection.emit(self)

    def answer_nothing(self) -> None:
        """The request is dealt with and gets no answer, as Produce with acks=0."""
        self.answered = []
        self.connection.emit(self)

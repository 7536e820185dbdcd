"""A call that tells when it is answered. Loaded, and used, only while there is a reader of each request."""

from __future__ import annotations

from ottla.broker.network.call import Call, CallConnection, LongCall
from ottla.broker.network.route import Route
from ottla.events.kind import Kind
from ottla.protocol.primitives import Message


class TimedCall(Call):
    """A `Call` that knows when it came."""

    is_watched = True

    __slots__ = ("taken_up_ms",)

    def __init__(
        self, connection: CallConnection, route: Route, correlation_id: int, client_id: str, request: Message
    ) -> None:
        super().__init__(connection, route, correlation_id, client_id, request)
        self.taken_up_ms = self.node.clock.now_ms()

    def answer(self, response: Message) -> None:
        self._tell()
        super().answer(response)

    def answer_nothing(self) -> None:
        self._tell()
        super().answer_nothing()

    def _tell(self) -> None:
        self.node.events.tell(
            Kind.REQUEST_HANDLED,
            node_id=self.node.node_id,
            api=self.route.name,
            api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self.client_id,
            client_host=self.client_host,
            duration_ms=self.node.clock.now_ms() - self.taken_up_ms,
        )


class TimedLongCall(TimedCall, LongCall):
    """A `LongCall` that knows when it came."""

    __slots__ = ()

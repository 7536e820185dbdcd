"""A call that tells the log when it is answered: one line a request. Loaded, and used, at the level debug only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.network.call import Call, LongCall
from ottla.protocol.primitives import Message

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection
    from ottla.broker.network.routes import Route


class LoggedCall(Call):
    """A `Call` that knows when it came."""

    __slots__ = ("taken_up_ms",)

    def __init__(
        self, connection: Connection, route: Route, correlation_id: int, client_id: str, request: Message
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
        self.connection.log.debug(
            "request.handled",
            api=self.route.name,
            api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self.client_id,
            client_host=self.client_host,
            duration_ms=self.node.clock.now_ms() - self.taken_up_ms,
        )


class LoggedLongCall(LoggedCall, LongCall):
    """A `LongCall` that knows when it came."""

    __slots__ = ()

"""A call that is kept, with its answer, to be looked at later. Loaded, and used, only when asked for.

The answer is noted when it is encoded, so it is the one that leaves, or of which a part leaves, whatever a fault has
made of the handler's.
"""

from __future__ import annotations

from ottla.broker.network.call import CallConnection, CallRecorder, LongCall
from ottla.broker.network.route import Route
from ottla.broker.network.timed_call import TimedCall
from ottla.protocol.primitives import Buffer, Message


class RecordedCall(TimedCall):
    """A `Call` that is kept."""

    __slots__ = ("_taken",)

    def __init__(
        self, connection: CallConnection, route: Route, correlation_id: int, client_id: str, request: Message
    ) -> None:
        super().__init__(connection, route, correlation_id, client_id, request)
        self._taken = self._recorder.take(self)

    def encode(self, response: Message) -> list[Buffer]:
        parts = super().encode(response)
        self._recorder.answered(self._taken, response)
        return parts

    def answer_nothing(self) -> None:
        self._recorder.answered(self._taken, None)
        super().answer_nothing()

    @property
    def _recorder(self) -> CallRecorder:
        recorder = self.connection.listener.recorder
        assert recorder is not None
        return recorder


class RecordedLongCall(RecordedCall, LongCall):
    """A `LongCall` that is kept."""

    __slots__ = ()

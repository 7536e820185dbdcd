"""Connections that end in the middle of things, or hardly get anything through."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from ottla.control.faults.exchange import Action, Exchange, RequestAction
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.broker.network.call import CallConnection
    from ottla.purgatory import Timer


class Moment(Enum):
    """When a connection ends."""

    REQUEST = "request"
    """Before the request has any effect."""
    ANSWER = "answer"
    """When it has, before the first byte of its answer."""
    END = "end"
    """When the client has the whole answer."""


_TOLD: Final = {Moment.REQUEST: "at the request", Moment.ANSWER: "before the answer", Moment.END: "after the answer"}
#: How much of the answer leaves before.
_BYTES_LEFT: Final = {Moment.ANSWER: 0, Moment.END: 2**31}


class Cut(RequestAction):
    """The connection is closed, or reset."""

    def __init__(self, moment: Moment | int, *, reset: bool) -> None:
        """`moment`: when, or after how many bytes of the answer."""
        when = f"after {moment} bytes of the answer" if isinstance(moment, int) else _TOLD[moment]
        self.text = f"{'reset' if reset else 'close'} the connection {when}"
        self._moment = moment
        self._is_reset = reset

    def on_request(self, exchange: Exchange) -> None:
        if self._moment is Moment.REQUEST:
            _end(exchange.call.connection, reset=self._is_reset)
        else:
            exchange.go_on()

    def on_answer(self, exchange: Exchange) -> None:
        if exchange.response is None:
            _end(exchange.call.connection, reset=self._is_reset)
            return
        bytes_count = self._moment if isinstance(self._moment, int) else _BYTES_LEFT[self._moment]
        exchange.call.leave_part(exchange.response, bytes_count, reset=self._is_reset)


class Trickle(RequestAction):
    """The answer leaves a few bytes at a time, by the broker's clock."""

    def __init__(self, timer: Timer, bytes_count: int, every_ms: int) -> None:
        self.text = f"trickle {bytes_count} bytes every {every_ms} ms"
        self._timer = timer
        self._bytes_count = bytes_count
        self._every_ms = every_ms

    def on_answer(self, exchange: Exchange) -> None:
        if exchange.response is None:
            exchange.go_on()
            return
        call, left = exchange.call, memoryview(exchange.call.frame(exchange.response))

        def send_some() -> None:
            nonlocal left
            if call.connection.is_closed:
                return
            if len(left) <= self._bytes_count:
                call.leave_bytes(bytes(left))
                return
            if call.send_ahead(bytes(left[: self._bytes_count])):
                left = left[self._bytes_count :]
            self._timer.add_in(Alarm(send_some), self._every_ms)

        send_some()


class RefuseConnection(Action):
    """A client that connects is closed or reset at once."""

    def __init__(self, *, reset: bool) -> None:
        self.text = f"turn away{' with a reset' if reset else ''}"
        self._is_reset = reset

    def end(self, connection: CallConnection) -> None:
        """End a connection that was just made."""
        _end(connection, reset=self._is_reset)


def _end(connection: CallConnection, *, reset: bool) -> None:
    if reset:
        connection.reset()
    else:
        connection.close()

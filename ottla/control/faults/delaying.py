"""Requests and answers that take their time, by the broker's clock: with the virtual one until it is moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.control.faults.exchange import Exchange, RequestAction
from ottla.purgatory import Alarm

if TYPE_CHECKING:
    from ottla.purgatory import Timer


class _Delay(RequestAction):
    def __init__(self, timer: Timer, ms: int) -> None:
        self._timer = timer
        self._ms = ms

    def _delay(self, exchange: Exchange) -> None:
        self._timer.add_in(Alarm(exchange.go_on_later), self._ms)


class DelayRequest(_Delay):
    """The request takes so long to arrive."""

    def __init__(self, timer: Timer, ms: int) -> None:
        super().__init__(timer, ms)
        self.text = f"delay the request by {ms} ms"

    def on_request(self, exchange: Exchange) -> None:
        self._delay(exchange)


class DelayAnswer(_Delay):
    """It is done, and its answer takes so long to arrive."""

    def __init__(self, timer: Timer, ms: int) -> None:
        super().__init__(timer, ms)
        self.text = f"delay the answer by {ms} ms"

    def on_answer(self, exchange: Exchange) -> None:
        self._delay(exchange)

"""Requests and answers that get lost, and requests that come twice."""

from __future__ import annotations

from ottla.control.faults.exchange import Exchange, RequestAction


class DropRequest(RequestAction):
    """The request never arrives: nothing is done, and its client waits."""

    text = "drop the request"

    def on_request(self, exchange: Exchange) -> None:
        """Nothing is done with it, ever."""


class DropAnswer(RequestAction):
    """The request is served, and its client gets no answer."""

    text = "drop the answer"

    def on_answer(self, exchange: Exchange) -> None:
        """Nothing is done with it, ever."""


class BlackHole(DropRequest):
    """Whatever the client sends goes nowhere. Its connections stay open, and hang."""

    text = "black hole"

    def on_answer(self, exchange: Exchange) -> None:
        """Nor do answers that were on their way."""


class Duplicate(RequestAction):
    """The request takes effect twice, as when a client tries again what had gone well; it is answered once, with what
    came of the second time.
    """

    text = "handle twice"

    def on_request(self, exchange: Exchange) -> None:
        exchange.call.rehearse(exchange.go_on_later)

"""The routes of the control API for faults and holds. What answers them is loaded with the first request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from ottla.control.api.http_refused import HttpRefused
from ottla.control.api.route import Answer, Route

if TYPE_CHECKING:
    from ottla.control.api.faults import FaultControl


class HasFaults(Protocol):
    """Has what answers requests about faults."""

    @property
    def faults(self) -> FaultControl:
        """Loaded with its first use."""


def _route(method: str, path: str, does: str, name: str) -> Route[HasFaults]:
    """A route that the method of this name answers."""

    async def answer(control: HasFaults, argument: bytes) -> Answer:
        asked: Callable[[bytes], Awaitable[Answer]] = getattr(control.faults, name)
        try:
            return await asked(argument)
        except ValueError as bad:
            from ottla.control.faults.misuse import BadFault  # what answers has loaded it

            if not isinstance(bad, BadFault):
                raise
            raise HttpRefused(HTTPStatus.BAD_REQUEST, str(bad)) from None

    return Route(method, path, does, answer)


#: In the order of the list.
FAULT_ROUTES: Final = (
    _route("POST", "/faults", 'have something go wrong, such as {"api": "Produce", "delay": 500}', "set"),
    _route("GET", "/faults", "what is to go wrong, and how often it has", "list"),
    _route("GET", "/faults/{fault_id}", "one fault, and what it has happened to", "show"),
    _route("POST", "/faults/wait", 'wait until the fault {"fault_id": ...} has happened', "wait"),
    _route("DELETE", "/faults/{fault_id}", "have it happen no more", "remove"),
    _route("POST", "/holds", 'hold requests, such as {"api": "SyncGroup"}', "hold"),
    _route("GET", "/holds", "what is held, decoded", "list_holds"),
    _route("POST", "/holds/wait", 'wait until the hold {"fault_id": ...} has something', "wait_for_hold"),
    _route("POST", "/holds/let_go", 'let go what {"fault_id": ..., "number": ...} holds', "let_go"),
    _route("POST", "/holds/refuse", 'answer it with the error {"error": ...}', "refuse"),
    _route("POST", "/holds/lose", "have nothing more become of it", "lose"),
    _route("DELETE", "/holds/{fault_id}", "let all go, and hold no more", "remove"),
    _route("DELETE", "/faults", "remove all faults, and let go all that is held", "clear"),
)

"""The rows of the control API that concern the broker's state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from ottla.control.api.route import Answer, Route

if TYPE_CHECKING:
    from ottla.control.api.state import StateControl


class HasState(Protocol):
    """The object of all routes has the object that answers these."""

    @property
    def state(self) -> StateControl: ...


def _route(
    method: str, path: str, does: str, answer: Callable[[StateControl, bytes], Awaitable[Answer]]
) -> Route[HasState]:
    async def of_state(control: HasState, argument: bytes) -> Answer:
        return await answer(control.state, argument)

    return Route(method, path, does, of_state)


STATE_ROUTES: Final[tuple[Route[HasState], ...]] = (
    _route("GET", "/groups/{group_id}", "one group: members, assignment, offsets, lag", lambda s, w: s.group(w)),
    _route("GET", "/topics/{topic}", "one topic: partitions, leaders, offsets", lambda s, w: s.topic(w)),
    _route("GET", "/records/{topic}", "the last records of a topic, decoded", lambda s, w: s.records(w)),
    _route("GET", "/transactions", "transactional ids, and their transactions", lambda s, w: s.transactions(w)),
    _route("GET", "/transactions/{transactional_id}", "one transactional id", lambda s, w: s.transaction(w)),
    _route("GET", "/connections", "who is connected", lambda s, w: s.connections(w)),
    _route("GET", "/timeline", "what happened last, and a table of it", lambda s, w: s.timeline(w)),
    _route("GET", "/requests", "what clients asked, with --record-requests; ?api=*Group", lambda s, w: s.requests(w)),
    _route("POST", "/wait", "answered when what the body says is so", lambda s, w: s.wait(w)),
    _route("POST", "/seed", 'make topics, records and offsets: {"entries": [...]}', lambda s, w: s.seed(w)),
    _route("POST", "/snapshot", "keep topics and groups as they are: {}", lambda s, w: s.snapshot(w)),
    _route("POST", "/restore", 'have them as in {"snapshot": ...}', lambda s, w: s.restore(w)),
    _route("POST", "/reset", "have it as it was at its start: {}", lambda s, w: s.reset(w)),
)

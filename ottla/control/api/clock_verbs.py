"""What scripts can ask of the clock besides the time: what comes next, and that it be later when something is so.

GET  /clock/next            what the broker waits for next; ?kind=session&group_id=kitchen for some
POST /clock/advance_until   {"group_id": "kitchen", "state": "Empty", "limit_ms": 60000}
"""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from ottla.control.api.body import read_body
from ottla.control.api.http_refused import HttpRefused
from ottla.control.state import conditions
from ottla.control.state.deadlines import deadlines
from ottla.control.state.waiting import NotInTime

if TYPE_CHECKING:
    from ottla.control.api.running import RunningBroker

#: Timers that come round every few minutes fire all the way, so a longer leap takes a while.
ADVANCE_MS_MAX: Final = 366 * 24 * 3600 * 1000
_EXAMPLE: Final = '{"group_id": "kitchen", "state": "Empty", "limit_ms": 60000}'
_SOUGHT: Final = ("kind", "group_id")


async def next_deadline(server: RunningBroker, query: bytes) -> dict[str, Any]:
    """GET /clock/next"""
    asked = parse_qs(query.decode("latin-1"))
    if unknown := asked.keys() - set(_SOUGHT):
        said = ", ".join(sorted(unknown))
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"{said} can't be asked for; only kind and group_id can")
    found = deadlines(server.services, server.timer)
    for key, values in asked.items():
        found = [deadline for deadline in found if getattr(deadline, key) in values]
    return {"next": asdict(found[0]) if found else None}


async def advance_until(server: RunningBroker, body: bytes) -> dict[str, Any]:
    """POST /clock/advance_until"""
    kinds = {"state": str, "members": int, "generation": int, "lag": int}
    asked = read_body(body, _EXAMPLE, {"group_id": str, "limit_ms": int}, kinds)
    if not 0 <= asked["limit_ms"] <= ADVANCE_MS_MAX:
        text = f"limit_ms is a whole number from 0 to {ADVANCE_MS_MAX}, which is 366 days"
        raise HttpRefused(HTTPStatus.BAD_REQUEST, text)
    refuse_to_move(server)
    wanted = {key: value for key, value in asked.items() if key in kinds}
    began_ms = server.clock.now_ms()
    try:
        await server.clock_hand.advance_until(conditions.group_is(asked["group_id"], **wanted), asked["limit_ms"])
    except NotInTime as late:
        raise HttpRefused(HTTPStatus.CONFLICT, str(late)) from None
    return {"moved_ms": server.clock.now_ms() - began_ms, "now_ms": server.clock.now_ms()}


def refuse_to_move(server: RunningBroker) -> None:
    """Raises `HttpRefused` where the clock is not the broker's own."""
    if not server.clock.stands_still:
        raise HttpRefused(
            HTTPStatus.CONFLICT,
            "the clock is the system's and can't be moved; start the broker with --clock virtual",
        )

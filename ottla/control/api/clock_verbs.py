"""What scripts can ask of the clock: what time it is, what comes next, and to move it.

GET  /clock                 what time it is
POST /clock/advance         {"ms": 45000}: move the virtual clock; answered when all due work is done
GET  /clock/next            what the broker waits for next; ?kind=session&group_id=kitchen for some
POST /clock/advance_until   {"group_id": "kitchen", "state": "Empty", "limit_ms": 60000}
"""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from ottla.control.api.body import read_body, read_object
from ottla.control.api.http_refused import HttpRefused
from ottla.control.state import conditions
from ottla.control.state.deadlines import deadlines
from ottla.control.state.waiting import NotInTime

if TYPE_CHECKING:
    from ottla.control.api.route import Answer
    from ottla.control.attached.controlled_broker import ControlledBroker

#: Timers that come round every few minutes fire all the way, so a longer leap takes a while.
ADVANCE_MS_MAX: Final = 366 * 24 * 3600 * 1000
_EXAMPLE: Final = '{"group_id": "kitchen", "state": "Empty", "limit_ms": 60000}'
_SOUGHT: Final = ("kind", "group_id")


async def clock(broker: ControlledBroker, _query: bytes) -> Answer:
    """GET /clock"""
    clock = broker.server.clock
    return {
        "clock": broker.clock_kind,
        "now_ms": clock.now_ms(),
        "wall_ms": clock.wall_ms(),
        "next_deadline_ms": broker.server.timer.next_deadline_ms(),
    }


async def advance(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /clock/advance"""
    asked = read_object(body)
    if asked is None or asked.keys() != {"ms"}:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, 'the body says by how much, such as {"ms": 45000}, and nothing else')
    ms = asked["ms"]
    if type(ms) is not int or not 0 <= ms <= ADVANCE_MS_MAX:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"ms is a whole number from 0 to {ADVANCE_MS_MAX}, which is 366 days")
    _refuse_to_move(broker)
    try:
        await broker.time.advance(ms)
    except NotInTime as late:
        raise HttpRefused(HTTPStatus.CONFLICT, str(late)) from None
    return await clock(broker, b"")


async def next_deadline(broker: ControlledBroker, query: bytes) -> Answer:
    """GET /clock/next"""
    asked = parse_qs(query.decode("latin-1"))
    if unknown := asked.keys() - set(_SOUGHT):
        said = ", ".join(sorted(unknown))
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"{said} can't be asked for; only kind and group_id can")
    found = deadlines(broker.server.services, broker.server.timer)
    for key, values in asked.items():
        found = [deadline for deadline in found if getattr(deadline, key) in values]
    return {"next": asdict(found[0]) if found else None}


async def advance_until(broker: ControlledBroker, body: bytes) -> Answer:
    """POST /clock/advance_until"""
    kinds = {"state": str, "members": int, "generation": int, "lag": int}
    asked = read_body(body, _EXAMPLE, {"group_id": str, "limit_ms": int}, kinds)
    if not 0 <= asked["limit_ms"] <= ADVANCE_MS_MAX:
        text = f"limit_ms is a whole number from 0 to {ADVANCE_MS_MAX}, which is 366 days"
        raise HttpRefused(HTTPStatus.BAD_REQUEST, text)
    _refuse_to_move(broker)
    wanted = {key: value for key, value in asked.items() if key in kinds}
    began_ms = broker.server.clock.now_ms()
    try:
        await broker.time.advance_until(conditions.group_is(asked["group_id"], **wanted), asked["limit_ms"])
    except NotInTime as late:
        raise HttpRefused(HTTPStatus.CONFLICT, str(late)) from None
    now_ms = broker.server.clock.now_ms()
    return {"moved_ms": now_ms - began_ms, "now_ms": now_ms}


def _refuse_to_move(broker: ControlledBroker) -> None:
    """Raises `HttpRefused` where the clock is not the broker's own."""
    if not broker.server.clock.stands_still:
        raise HttpRefused(
            HTTPStatus.CONFLICT,
            "the clock is the system's and can't be moved; start the broker with --clock virtual",
        )

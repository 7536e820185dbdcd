"""What clients have asked and were answered, of a broker that records it.

GET /requests    ?api=OffsetCommit&group_id=kitchen&client_id=ana-*, as much of it as matters
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from ottla.control.api.http_refused import HttpRefused
from ottla.control.state.decoded import as_json
from ottla.protocol.registry import all_apis

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.state.requests import ReceivedRequest

#: How many an answer has: the last ones.
REQUESTS_TOLD_MAX: Final = 1_000
_SOUGHT: Final = ("api", "group_id", "client_id")


async def tell_requests(broker: ControlledBroker, query: bytes) -> dict[str, Any]:
    """GET /requests"""
    sought = _read(query)
    if broker.recorder is None:
        raise HttpRefused(
            HTTPStatus.CONFLICT, "requests are not recorded; start the broker with ottla serve --record-requests"
        )
    found = broker.recorder.requests(
        sought.get("api", "*"), group=sought.get("group_id"), client_id=sought.get("client_id")
    )
    has_all = broker.recorder.has_all_since(0) and len(found) <= REQUESTS_TOLD_MAX
    told = []
    for received in found[-REQUESTS_TOLD_MAX:]:
        told.append(_tell(received))
        await asyncio.sleep(0)  # clients have their turn between them
    return {"has_all": has_all, "requests": told}


def _read(query: bytes) -> Mapping[str, str]:
    """What is sought, each once. Raises `HttpRefused`."""
    asked = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    sought = dict(asked)
    if len(sought) < len(asked) or not sought.keys() <= set(_SOUGHT):
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "api, group_id and client_id can be asked for, each once")
    api = sought.get("api", "*")
    if not any(fnmatchcase(known.name, api) for known in all_apis()):
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"there is no API called {api!r}; there is OffsetCommit, for example")
    return sought


def _tell(received: ReceivedRequest) -> dict[str, Any]:
    took_ms = received.answered_after_ms
    return {
        "api": received.api,
        "api_version": received.api_version,
        "group_id": received.group_id,
        "client_id": received.client_id,
        "client_host": received.client_host,
        "node_id": received.node_id,
        "correlation_id": received.correlation_id,
        "now_ms": received.now_ms,
        "is_answered": received.is_answered,
        "answered_after_ms": None if took_ms is None else round(took_ms, 3),
        "errors": received.errors,
        "request": as_json(received.request, received.api_version),
        "answer": as_json(received.answer, received.api_version),
    }

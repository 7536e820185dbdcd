"""Snapshots that scripts have taken: kept in memory and numbered, to go back to as often as one likes.

POST /snapshot    {}: keep all topics and groups as they are now
POST /restore     {"snapshot": 1}: have them as they were then
"""

from __future__ import annotations

from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Final

from ottla.control.api.body import read_body, read_object
from ottla.control.api.http_refused import HttpRefused
from ottla.control.changes.snapshot import SnapshotRefused, restore, snapshot

if TYPE_CHECKING:
    from ottla.broker.lifecycle.server import Server
    from ottla.control.api.route import Answer
    from ottla.control.changes.snapshot import Snapshot

#: When there is one more, the oldest goes: the records in it may be nowhere else any more. It goes as well when all
#: together hold more than ottla.log.bytes.max.
SNAPSHOTS_KEPT_MAX: Final = 16


class Snapshots:
    """Takes snapshots of one broker, and goes back to them. Raises `HttpRefused`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kept: dict[int, Snapshot] = {}
        self._numbers = count(1)

    async def take(self, body: bytes) -> Answer:
        """POST /snapshot"""
        if read_object(body) != {}:
            raise HttpRefused(HTTPStatus.BAD_REQUEST, "the body is {}, for there is nothing to say")
        try:
            taken = snapshot(self._server.parts)
        except SnapshotRefused as refused:
            raise HttpRefused(HTTPStatus.CONFLICT, str(refused)) from None
        number = next(self._numbers)
        self._kept[number] = taken
        self._drop_oldest()
        return {"snapshot": number}

    async def restore(self, body: bytes) -> Answer:
        """POST /restore"""
        number = read_body(body, '{"snapshot": 1}', {"snapshot": int})["snapshot"]
        if number not in self._kept:
            kept = ", ".join(map(str, self._kept)) or "none"
            text = (
                f"there is no snapshot {number}; those kept, {SNAPSHOTS_KEPT_MAX} at most and together no more than "
                f"ottla.log.bytes.max, are: {kept}"
            )
            raise HttpRefused(HTTPStatus.NOT_FOUND, text)
        await restore(self._server.parts, self._kept[number])
        return {"topics": len(self._server.cluster.topics)}

    def _drop_oldest(self) -> None:
        kept, bytes_max = self._kept, self._server.cluster.settings["ottla.log.bytes.max"]
        while len(kept) > 1 and (
            len(kept) > SNAPSHOTS_KEPT_MAX or sum(one.size_bytes for one in kept.values()) > bytes_max
        ):
            del kept[min(kept)]

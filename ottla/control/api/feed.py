"""Events for a client that follows them: read from the stream, kept until they are sent, as server-sent events.

What waits for a slow reader is bounded, in events and in bytes. A reader that falls behind further is cut off. By the
sequence of the next event it gets, which is its id, it sees how many it has missed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from ottla.control.api.http_refused import HttpRefused
from ottla.events.kind import KINDS, USUAL_KINDS
from ottla.events.kinds.event_kind import EventKind

if TYPE_CHECKING:
    from ottla.events.stream import Event, Stream

WAITING_EVENTS_MAX: Final = 10_000
WAITING_BYTES_MAX: Final = 8 << 20


def read_kinds(query: str) -> list[EventKind]:
    """The kinds that a query such as `kind=group.*&kind=node.*` asks for. Without one, or with `*`, all usual ones.

    Raises `HttpRefused`.
    """
    asked = parse_qs(query, keep_blank_values=True)
    patterns = asked.pop("kind", ["*"])
    for unknown in asked:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, f"there is no {unknown!r} to ask for; only kind, as in ?kind=group.*")
    for pattern in patterns:
        if not any(fnmatchcase(kind.name, pattern) for kind in KINDS.values()):
            raise HttpRefused(
                HTTPStatus.BAD_REQUEST, f"no kind of event is called {pattern!r}; docs/events.md lists them"
            )
    return [kind for kind in KINDS.values() if any(_matches(kind, pattern) for pattern in patterns)]


def _matches(kind: EventKind, pattern: str) -> bool:
    return kind in USUAL_KINDS if pattern == "*" else fnmatchcase(kind.name, pattern)


class Feed:
    """What one reader is still to be sent."""

    def __init__(self, events: Stream, kinds: Sequence[EventKind]) -> None:
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._news = asyncio.Event()
        self._is_over = False
        self._stop_reading = events.read(self._take, kinds)

    async def next(self) -> bytes:
        """All that has come since the last call, once there is something; b"" when it is over."""
        await self._news.wait()
        self._news.clear()
        text = b"".join(self._waiting)
        self._forget()
        if self._is_over:
            self._news.set()
        return text

    def close(self) -> None:
        """Read nothing more. What is waiting can still be had."""
        self._stop_reading()
        self._is_over = True
        self._news.set()

    def drop(self) -> None:
        """The reader has gone: read nothing more, and keep nothing for it, whatever still holds this."""
        self.close()
        self._forget()

    def _forget(self) -> None:
        self._waiting, self._waiting_bytes = [], 0

    def _take(self, event: Event) -> None:
        text = _as_text(event).encode()
        if len(self._waiting) >= WAITING_EVENTS_MAX or self._waiting_bytes + len(text) > WAITING_BYTES_MAX:
            self.close()
            return
        self._waiting.append(text)
        self._waiting_bytes += len(text)
        self._news.set()


def _as_text(event: Event) -> str:
    data = json.dumps(
        {
            "sequence": event.sequence,
            "now_ms": event.now_ms,
            "wall_ms": event.wall_ms,
            "node_id": event.node_id,
            "kind": event.kind.name,
            "details": dict(event.details),
        }
    )
    return f"id: {event.sequence}\nevent: {event.kind.name}\ndata: {data}\n\n"

"""The journal: what happened in each group and why, one JSON object a line, for people and for jobs that read it.

    {"v": 1, "line": 52, "t": 1767225600000, "group": "orders", "seq": 7, "event": "group.rebalance.started",
     "state": "PreparingRebalance", "generation": 2, "cause": "session_expired", "member_id": "ana-..."}

The fields are told in docs/journal.md. It reads the events that groups have notes for; they are put aside here and
written later, all that came in one turn of the loop in one go, so no group waits for a file. `write` is the file's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ottla.broker.groups.notes import COUNTED

if TYPE_CHECKING:
    from ottla.events.stream import Event

VERSION: Final = 1
"""Of the lines. It grows when a field changes its meaning or goes away; new fields don't change it."""

#: What every line has as a field of its own, and what can be counted from another detail.
_NO_DETAILS: Final = frozenset(("group_id", "group_sequence", "state", "generation_id", *COUNTED.values()))


class Journal:
    """Turns events into lines. It is a reader of the stream of events."""

    __slots__ = ("_events", "_later", "_lines", "_write")

    def __init__(self, write: Callable[[bytes], object], later: Callable[[Callable[[], None]], object]) -> None:
        """`write` takes whole lines; `later` calls a function soon, such as `loop.call_soon`."""
        self._write = write
        self._later = later
        self._events: list[Event] = []
        self._lines = 0

    def __call__(self, event: Event) -> None:
        if not self._events:
            self._later(self.flush)
        self._events.append(event)

    def flush(self) -> None:
        """Write down what there is."""
        events, self._events = self._events, []
        if events:
            self._write(b"".join(line(number, event) for number, event in enumerate(events, self._lines + 1)))
            self._lines += len(events)


def line(number: int, event: Event) -> bytes:
    """An event as a line of JSON, line feed included. `number` counts a journal's lines from 1."""
    details = event.details
    said = {
        "v": VERSION,
        "line": number,
        "t": event.wall_ms,
        "group": details["group_id"],
        "seq": details["group_sequence"],
        "event": event.kind.name,
        "state": details["state"],
        "generation": details["generation_id"],
    }
    said |= {key: value for key, value in details.items() if key not in _NO_DETAILS}
    return _encode(said).encode() + b"\n"


_encode: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode

"""The journal: what happened in each group and why, one JSON object a line, for people and for jobs that read it.

    {"v": 1, "line": 52, "t": 1767225600000, "group": "orders", "seq": 7, "event": "group.rebalance.started",
     "state": "PreparingRebalance", "generation": 2, "cause": "session_expired", "member_id": "ana-..."}

The fields are told in docs/journal.md. A group only makes small notes; they are put aside here and written later, all
that came in one turn of the loop in one go, so no group waits for a file. `write` is the file's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.coordinator.notes import Note

VERSION: Final = 1
"""Of the lines. It grows when a field changes its meaning or goes away; new fields don't change it."""


class Journal:
    """Turns notes into lines. It is a `NoteSink`: call it with a note."""

    __slots__ = ("_later", "_lines", "_notes", "_write")

    def __init__(self, write: Callable[[bytes], object], later: Callable[[Callable[[], None]], object]) -> None:
        """`write` takes whole lines; `later` calls a function soon, such as `loop.call_soon`."""
        self._write = write
        self._later = later
        self._notes: list[tuple[str, int, Note]] = []
        self._lines = 0

    def __call__(self, group_id: str, timestamp_ms: int, note: Note, /) -> None:
        if not self._notes:
            self._later(self.flush)
        self._notes.append((group_id, timestamp_ms, note))

    def flush(self) -> None:
        """Write down what there is."""
        notes, self._notes = self._notes, []
        if notes:
            self._write(b"".join(line(number, *noted) for number, noted in enumerate(notes, self._lines + 1)))
            self._lines += len(notes)


def line(number: int, group_id: str, timestamp_ms: int, note: Note) -> bytes:
    """A note as a line of JSON, line feed included. `number` counts a journal's lines from 1."""
    said = {
        "v": VERSION,
        "line": number,
        "t": timestamp_ms,
        "group": group_id,
        "seq": note.sequence,
        "event": note.happened.value,
        "state": note.state.value,
        "generation": note.generation_id,
        **note.details,
    }
    return _encode(said).encode() + b"\n"


def _plain(value: object) -> object:
    assert isinstance(value, Enum), f"a note has a {type(value).__name__}, which JSON has not"
    return value.value


_encode: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=_plain).encode

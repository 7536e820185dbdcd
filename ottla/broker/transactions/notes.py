"""What happens in transactions, told to the stream of events."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.coordinator.transactions.notes import Note
    from ottla.events.kinds.event_kind import EventKind
    from ottla.events.stream import Stream


class TransactionNotes:
    """Tells each note as an event of its kind."""

    def __init__(self, events: Stream) -> None:
        self._events = events

    def is_told(self, kind: EventKind) -> bool:
        """Whether events of this kind have a reader."""
        return self._events.is_read(kind)

    def __call__(self, _key: str, _timestamp_ms: int, note: Note, /) -> None:
        details: dict[str, Any] = {
            key: value.value if isinstance(value, Enum) else value for key, value in note.details.items()
        }
        details |= {
            "transactional_id": note.transactional_id,
            "producer_id": note.producer_id,
            "producer_epoch": note.producer_epoch,
        }
        self._events.tell(note.kind, **details)

"""What happens in transactions, told to the stream of events."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.transactions.notes import Happened
from ottla.events.kind import KINDS, Kind

if TYPE_CHECKING:
    from ottla.coordinator.transactions.notes import Note
    from ottla.events.stream import Stream

_KINDS: Final[Mapping[Enum, Kind]] = {happened: KINDS[happened.value] for happened in Happened}


class TransactionNotes:
    """Tells each note as an event of the same name."""

    def __init__(self, events: Stream) -> None:
        self._events = events

    def is_told(self, happened: Enum) -> bool:
        """Whether anybody wants to know of this."""
        return self._events.is_read(_KINDS[happened])

    def __call__(self, _key: str, _timestamp_ms: int, note: Note, /) -> None:
        details: dict[str, Any] = {
            key: value.value if isinstance(value, Enum) else value for key, value in note.details.items()
        }
        details |= {
            "transactional_id": note.transactional_id,
            "producer_id": note.producer_id,
            "producer_epoch": note.producer_epoch,
        }
        self._events.tell(_KINDS[note.happened], **details)

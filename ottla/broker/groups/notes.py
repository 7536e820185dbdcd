"""What happens in groups, told as events: of these the log, the journal and other readers learn of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.events.kind import Kind
from ottla.events.kinds.event_kind import EventKind
from ottla.events.kinds.groups import NOTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.coordinator.notes import Note
    from ottla.events.stream import Event, Stream

#: Of lists of members it is told as well how many they are, which is all that the log has room for.
COUNTED: Final = {"member_ids": "members"}


class NotesToStream:
    """Tells each note as an event of its kind. It is a `NoteReader`."""

    def __init__(self, events: Stream) -> None:
        self._events = events
        #: The kinds that have a reader at the moment.
        self.wanted: set[EventKind] = set()
        for kind in NOTED:
            events.when_read(kind, partial(self._want, kind))

    def _want(self, kind: EventKind, is_read: bool) -> None:
        (self.wanted.add if is_read else self.wanted.discard)(kind)

    def __call__(self, group_id: str, timestamp_ms: int, note: Note, /) -> None:
        self._events.tell(
            note.kind,
            wall_ms=timestamp_ms,
            group_id=group_id,
            generation_id=note.generation_id,
            state=note.state.value,
            group_sequence=note.sequence,
            **_plain(note.details),
        )


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON may have them: an error code is its name."""
    plain = {key: _text_of(value) if isinstance(value, Enum) else value for key, value in details.items()}
    return plain | {counted: len(details[key]) for key, counted in COUNTED.items() if key in details}


def _text_of(value: Enum) -> Any:
    return value.name if isinstance(value, int) else value.value


@dataclass(slots=True)
class LastRebalance:
    """The last rebalance of a group, as far as it has come. `duration_ms` is None while it is under way."""

    timestamp_ms: int
    """When it began, as a date."""
    cause: str
    member_id: str | None
    """The member because of which it began; None: because of none."""
    reason: str | None
    """What that member said."""
    generation_id: int | None = None
    duration_ms: int | None = None


class LastRebalances:
    """Remembers of each group why it last rebalanced, also when another node coordinates it now."""

    def __init__(self, events: Stream) -> None:
        self._of_group: dict[str, LastRebalance] = {}
        events.read(self._started, [Kind.GROUP_REBALANCE_STARTED])
        events.read(self._ended, [Kind.GROUP_REBALANCE_COMPLETED, Kind.GROUP_EMPTIED])
        events.read(self._forget, [Kind.GROUP_CREATED, Kind.GROUP_DELETED])

    def of(self, group_id: str) -> LastRebalance | None:
        return self._of_group.get(group_id)

    def _started(self, event: Event) -> None:
        said = event.details
        self._of_group[said["group_id"]] = LastRebalance(
            event.wall_ms, said["cause"], said.get("member_id"), said.get("reason")
        )

    def _ended(self, event: Event) -> None:
        if (last := self._of_group.get(event.details["group_id"])) is not None:
            last.generation_id = event.details.get("generation_id")
            last.duration_ms = event.wall_ms - last.timestamp_ms

    def _forget(self, event: Event) -> None:
        self._of_group.pop(event.details["group_id"], None)

"""What happens in groups, told to all who want to know: the journal, and the stream of events, which the log reads.

The coordinator gives each note to one function, which is `tell_all` of those who want to hear.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.supervision import tell
from ottla.events.kind import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ottla.broker.log import Log
    from ottla.coordinator.notes import Note, NoteSink
    from ottla.events.stream import Event, Stream

#: Details that are lists or maps of members are told as how many they are.
_COUNTED: Final = {"member_ids": "members"}


def tell_all(sinks: Sequence[NoteSink], log: Log) -> NoteSink:
    """One sink that is all of these. None of them can harm the others, nor the group that the note is about."""

    def tell_everybody(group_id: str, timestamp_ms: int, note: Note) -> None:
        tell(log, sinks, group_id, timestamp_ms, note)

    return tell_everybody


class NotesToStream:
    """Tells each note as an event, with the keys that its kind has."""

    def __init__(self, events: Stream) -> None:
        self._events = events

    def __call__(self, group_id: str, timestamp_ms: int, note: Note) -> None:
        kind = KINDS[note.happened.value]
        if self._events.is_read(kind):
            details = {"group_id": group_id, "generation_id": note.generation_id, **_in_brief(note.details)}
            self._events.tell(kind, **{key: details[key] for key in kind.keys if key in details})


def _in_brief(details: Mapping[str, Any]) -> dict[str, Any]:
    brief: dict[str, Any] = {}
    for key, value in details.items():
        if key in _COUNTED:
            brief[_COUNTED[key]] = len(value)
        elif isinstance(value, int) and isinstance(value, Enum):
            brief[key] = value.name  # an error code
        else:
            brief[key] = value.value if isinstance(value, Enum) else value
    return brief


@dataclass(slots=True)
class LastRebalance:
    """The last rebalance of a group, as far as it has come. `duration_ms` is None while it is under way."""

    timestamp_ms: int
    """When it began, as a date."""
    cause: str
    member_id: str | None
    """Because of whom, if anybody."""
    reason: str | None
    """What that one said."""
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

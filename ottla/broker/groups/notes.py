"""What happens in groups, told to all who want to know: the log, the journal, the control API.

The coordinator gives each note to one function, which is `tell_all` of those who want to hear.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ottla.broker.events import EVENTS
from ottla.broker.log import LEVELS
from ottla.broker.setbacks import Setbacks
from ottla.broker.supervision import tell
from ottla.coordinator.notes import Happened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ottla.broker.log import Log
    from ottla.coordinator.notes import Note
    from ottla.coordinator.owner import NoteSink
    from ottla.purgatory import Clock

#: What a group's log refused so long ago is told again.
_QUIET_MS: Final = 60_000
#: Details that are lists or maps of members go into the log as how many they are.
_COUNTED: Final = {"member_ids": "members"}


def tell_all(sinks: Sequence[NoteSink], log: Log) -> NoteSink:
    """One sink that is all of these. None of them can harm the others, nor the group that the note is about."""

    def tell_everybody(group_id: str, timestamp_ms: int, note: Note) -> None:
        tell(log, sinks, group_id, timestamp_ms, note)

    return tell_everybody


class NotesToLog:
    """Logs each note, with the level and the keys that the table of events has for it.

    A group whose log takes no record hears that with each commit, many times a second. Who reads the log hears it once
    for a reason, until it has not happened for a minute.
    """

    def __init__(self, log: Log, clock: Clock) -> None:
        #: By group id, and what could not be written.
        self._unwritten: Setbacks[tuple[str, object]] = Setbacks(clock, _QUIET_MS)
        events = {happened: EVENTS[happened.value] for happened in Happened}
        #: How to log what, of that which passes the log's level.
        self._tell = {
            happened: (getattr(log, event.level), event.name, event.keys)
            for happened, event in events.items()
            if log.is_enabled_for(LEVELS[event.level])
        }

    def __call__(self, group_id: str, timestamp_ms: int, note: Note) -> None:
        if (told := self._tell.get(note.happened)) is not None:
            if note.happened is Happened.WRITE_FAILED and not self._is_news(group_id, note):
                return
            log, name, keys = told
            details = {"group_id": group_id, "generation_id": note.generation_id, **_in_brief(note.details)}
            log(name, **{key: details[key] for key in keys if key in details})

    def _is_news(self, group_id: str, note: Note) -> bool:
        return self._unwritten.failed((group_id, note.details.get("what")), str(note.details.get("error")))


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

    def __init__(self) -> None:
        self._of_group: dict[str, LastRebalance] = {}

    def __call__(self, group_id: str, timestamp_ms: int, note: Note) -> None:
        match note.happened:
            case Happened.REBALANCE_STARTED:
                details = _in_brief(note.details)
                self._of_group[group_id] = LastRebalance(
                    timestamp_ms, details["cause"], details.get("member_id"), details.get("reason")
                )
            case Happened.REBALANCE_COMPLETED | Happened.GROUP_EMPTIED:
                if (last := self._of_group.get(group_id)) is not None:
                    last.generation_id = note.generation_id
                    last.duration_ms = timestamp_ms - last.timestamp_ms
            case Happened.GROUP_DELETED | Happened.GROUP_CREATED:
                self._of_group.pop(group_id, None)

    def of(self, group_id: str) -> LastRebalance | None:
        return self._of_group.get(group_id)

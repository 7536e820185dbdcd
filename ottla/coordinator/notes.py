"""What is worth telling people about a group: small notes that groups of every kind make when they have a reader.

A note says what happened, the group's state and generation after it, and the details in Kafka's words. `sequence`
counts what was worth a note in a group, from 1, so a reader knows that none is missing. The broker tells them as
events, of which it writes its journal; docs/journal.md is for its readers. A note without a reader is not made.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from typing import Protocol

from ottla.coordinator.runtime.effects import Effects, Notice
from ottla.coordinator.runtime.frozen import frozen
from ottla.events.kinds.event_kind import EventKind


class Cause(Enum):
    """Why something happened."""

    JOIN = "join"
    COMMIT = "commit"
    MEMBER_JOINED = "member_joined"
    MEMBER_CHANGED = "member_changed"
    LEADER_REJOINED = "leader_rejoined"
    STATIC_MEMBER_RETURNED = "static_member_returned"
    MEMBER_LEFT = "member_left"
    SESSION_EXPIRED = "session_expired"
    JOIN_EXPIRED = "join_expired"
    SYNC_EXPIRED = "sync_expired"
    GROUP_FULL = "group_full"
    WRITE_FAILED = "write_failed"
    REQUESTED = "requested"
    ENFORCED = "enforced"
    RETENTION = "retention"
    TOPICS_DELETED = "topics_deleted"


@frozen
class Note(Notice):
    """One thing that happened to a group."""

    sequence: int
    kind: EventKind
    state: Enum
    """A state of the group's kind; its value is the name that clients see."""
    generation_id: int
    details: dict[str, object]


class NoteReader(Protocol):
    """The reader of the notes."""

    @property
    def wanted(self) -> Container[EventKind]:
        """The kinds that are to be made. They may change while groups live."""

    def __call__(self, group_id: str, timestamp_ms: int, note: Note, /) -> None: ...


class Noted(Protocol):
    """A group of any kind, as its notes see it."""

    notes: int
    """How many there were, made or not."""

    @property
    def notes_wanted(self) -> Container[EventKind]:
        """The kinds that have a reader."""

    @property
    def state(self) -> Enum: ...

    @property
    def generation_id(self) -> int: ...


def note(group: Noted, effects: Effects, kind: EventKind, **details: object) -> None:
    """Note something, if its kind has a reader. Details without a value are left out."""
    group.notes += 1
    if kind in group.notes_wanted:
        details = {key: value for key, value in details.items() if value is not None}
        effects.append(Note(group.notes, kind, group.state, group.generation_id, details))

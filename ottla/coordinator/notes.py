"""What is worth telling people about a group: small notes that groups of every kind make when somebody reads them.

A note says what happened, the group's state and generation after it, and the details in Kafka's words. `sequence`
counts what was worth a note in a group, from 1, so a reader knows that none is missing. The broker tells them as
events, of which it writes its journal; docs/journal.md is for its readers. A note that nobody reads is not made.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from typing import Protocol

from ottla.coordinator.runtime.effects import Effects, Notice
from ottla.coordinator.runtime.frozen import frozen


class Happened(Enum):
    """The names of notes; each with the details it has."""

    GROUP_CREATED = "group.created"
    """cause"""
    GROUP_LOADED = "group.loaded"
    """member_ids, leader, protocol_type, protocol_name"""
    GROUP_UNLOADED = "group.unloaded"
    GROUP_DELETED = "group.deleted"
    """cause"""
    GROUP_EMPTIED = "group.emptied"
    """duration_ms: of the rebalance that nobody joined"""
    MEMBER_ID_HANDED_OUT = "group.member.id_handed_out"
    """member_id, client_id, client_host"""
    MEMBER_JOINED = "group.member.joined"
    """member_id, group_instance_id, client_id, client_host, session_timeout_ms, rebalance_timeout_ms, reason"""
    MEMBER_REJOINED = "group.member.rejoined"
    """member_id, is_changed: whether its protocols or their metadata are others, reason"""
    MEMBER_REPLACED = "group.member.replaced"
    """member_id, replaced_member_id, group_instance_id, reason"""
    MEMBER_REMOVED = "group.member.removed"
    """member_id, group_instance_id, cause, reason: what it said when it left; silent_ms: since its last sign of life"""
    JOIN_REFUSED = "group.join.refused"
    """member_id, client_id, client_host, error"""
    REBALANCE_STARTED = "group.rebalance.started"
    """cause, member_id: because of whom, if anybody; reason; delay_ms: how long more members are awaited, if the group
    was empty"""
    REBALANCE_JOINED = "group.rebalance.joined"
    """cause, member_ids, leader, protocol_type, protocol_name, duration_ms: since the start"""
    REBALANCE_COMPLETED = "group.rebalance.completed"
    """leader, protocol_name, assignment_bytes: by member id; duration_ms: since the start"""
    REBALANCE_STUCK = "group.rebalance.stuck"
    """member_ids: those that have no protocol in common"""
    WRITE_FAILED = "group.write.failed"
    """error, what"""
    OFFSETS_REMOVED = "group.offsets.removed"
    """cause, partitions: how many"""


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
    happened: Happened
    state: Enum
    """A state of the group's kind; its value is the name that clients see."""
    generation_id: int
    details: dict[str, object]


class NoteReader(Protocol):
    """Who is given the notes."""

    @property
    def wanted(self) -> Container[Happened]:
        """Those that are to be made. They may become others while groups live."""

    def __call__(self, group_id: str, timestamp_ms: int, note: Note, /) -> None: ...


class Noted(Protocol):
    """A group of any kind, as its notes see it."""

    notes: int
    """How many there were, made or not."""

    @property
    def notes_wanted(self) -> Container[Happened]:
        """Those that somebody reads."""

    @property
    def state(self) -> Enum: ...

    @property
    def generation_id(self) -> int: ...


def note(group: Noted, effects: Effects, happened: Happened, **details: object) -> None:
    """Note something, if anybody reads that. What has no value is left out."""
    group.notes += 1
    if happened in group.notes_wanted:
        details = {key: value for key, value in details.items() if value is not None}
        effects.append(Note(group.notes, happened, group.state, group.generation_id, details))

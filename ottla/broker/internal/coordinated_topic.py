"""What is different about each internal topic that is coordinated: its names, and the events that tell of it.

A row for each stands with its coordination: `broker/groups`, `broker/transactions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.events.kinds.event_kind import EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatedTopic:
    """One internal topic. Each event has the fields that it is given here, besides its own."""

    name: str
    """What is coordinated, in the plural."""
    topic: str
    machine: str
    """What a machine is called, of its key: "group {}"."""
    machine_fields: Callable[[str], Mapping[str, Any]]
    """What the events about a machine say of it, by its key: its group_id."""
    loading: str
    """What the job is called that reads partitions back."""

    loaded: EventKind
    """A partition was read: partition, duration_ms, and how many machines it has, under `machines_field`."""
    machines_field: str | None = None
    load_failed: EventKind
    """A partition can't be read: partition, reason."""
    records_ignored: EventKind
    """A partition has records of an unknown type: partition, record_type, records."""
    all_loaded: EventKind | None = None
    """For the first time there is nothing more to be read. None: that is not told."""
    machine_failed: EventKind
    """A machine has met a bug, for the first time or another one than before: `machine_fields`, reason."""
    machine_recovered: EventKind
    """It is there again after its first failure: `machine_fields`."""

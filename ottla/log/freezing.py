"""A log as it is at one moment: its bytes are shared and not copied, because a log only grows.

    freeze(partition) ─▶ FrozenLog ─▶ Logs.begin_with ─▶ a log that goes on from there, as after a restart

What the log itself appends later lies behind the bytes that are shared; what another one appends, that began with them,
goes to a chunk of its own. Only in memory: on disk a log is a file that one process writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.log.storage.contract import LogState
from ottla.log.storage.memory import FrozenLog, MemorySegment

if TYPE_CHECKING:
    from ottla.log.partition import Partition


class NotInMemory(Exception):
    """The log is on disk."""


def freeze(partition: Partition) -> FrozenLog:
    """The log as it is now. Raises `NotInMemory`."""
    segments = []
    for segment in partition.segments:
        if not isinstance(segment, MemorySegment):
            raise NotInMemory
        segments.append(segment.copy())
    return FrozenLog(
        tuple(segments),
        LogState(partition.log_start_offset, partition.leader_epochs),
        tuple(entry.copy() for entry in partition.producers),
        partition.leader_epoch,
        partition.cleaned_offset,
    )

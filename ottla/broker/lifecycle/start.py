"""What a server does at its start besides binding its listeners, each only where it is asked for."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ottla.broker.lifecycle.assembly import Assembly
from ottla.broker.upkeep.periodic_task import PeriodicTask
from ottla.cluster.address import MachineRefused

if TYPE_CHECKING:
    from pathlib import Path

    from ottla.broker.lifecycle.platform import Platform
    from ottla.broker.network.listener import Listener
    from ottla.cluster.persistence import Persistence
    from ottla.events.stream import Stream
    from ottla.purgatory import Clock


async def open_data_dir(parts: Assembly, platform: Platform, path: Path, stopping: Event) -> Persistence:
    """Restore topics, logs and settings from the data directory, and keep them there. Raises `MachineRefused`."""
    try:
        from ottla.cluster.persistence import Persistence
    except ImportError as error:
        raise MachineRefused(
            f"--data-dir: logs on disk need what this system has not ({error}); leave it out to have them in memory"
        ) from None
    from ottla.log.storage.file_operations import FileOperations

    persistence = Persistence(parts.cluster, platform.clock, path, platform.file_operations or FileOperations())
    await persistence.open(stopping)
    return persistence


def open_journal(path: Path, events: Stream) -> AbstractContextManager[object]:
    """Append the events of groups to this file until the end. Raises `MachineRefused`."""
    from ottla.broker.groups.journal_file import keeping_journal

    return keeping_journal(path, events)


def close_idle_connections(listeners: Sequence[Listener], parts: Assembly, clock: Clock) -> None:
    """From now on close connections that have been silent for connections.max.idle.ms, or a little longer.

    A virtual clock jumps over hours in which real clients could not have sent anything, so it closes no connection.
    """
    idle_ms: int = parts.cluster.settings["connections.max.idle.ms"]
    if idle_ms < 0 or clock.stands_still:
        return

    def look() -> None:
        for listener in listeners:
            listener.close_idle()

    PeriodicTask(
        parts.timer, parts.services.background, parts.events, "idle connections", look, lambda: idle_ms
    ).start()

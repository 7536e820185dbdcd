"""`--seed FILE`: topics, records and committed offsets that are there before the first client.

A broker with a data directory plants the seed at its first start only. After a restart it has what clients have made of
it, and the seed is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.broker.lifecycle.attachment import Attachment
from ottla.control.changes.seeds import plant, read_seed
from ottla.events.kind import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from ottla.broker.lifecycle.server import Server


class SeedFile(Attachment):
    """Plants the seed of one file."""

    def __init__(self, server: Server, path: Path) -> None:
        self._server = server
        self._path = path

    async def before_clients(self) -> None:
        """Plant it, unless there are topics. Raises `MachineRefused` and `ConfigError`."""
        seed, server, path = read_seed(self._path), self._server, str(self._path)
        if server.cluster.topics:
            server.events.tell(Kind.SEED_SKIPPED, path=path, reason="there are topics already")
            return
        await plant(server.services, server.cluster, seed)
        server.events.tell(Kind.SEED_PLANTED, path=path, entries=len(seed))

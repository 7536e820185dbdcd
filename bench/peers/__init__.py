"""The peers, in the order of the table's columns."""

from __future__ import annotations

from bench.peers.echo import Echo
from bench.peers.kafka import Kafka
from bench.peers.kfake import Kfake
from bench.peers.mock import Mock
from bench.peers.other import Other
from bench.peers.ottla import Ottla, OttlaOnDisk
from bench.peers.peer import Peer

__all__ = ["Other", "Peer", "all_peers"]


def all_peers(against: str | None) -> list[Peer]:
    """Ottla first, in memory and on disk, the limit last, the one at `against` (host:port), if any, before it."""
    others: list[Peer] = [Other(against)] if against else []
    return [Ottla(), OttlaOnDisk(), Mock(), Kfake(), Kafka(), *others, Echo()]

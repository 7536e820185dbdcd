"""Who is connected, by what the clients have said of themselves in ApiVersions, which is what they all begin with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.broker.network.connection import Connection


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """A client's connection."""

    node_id: int
    listener: str
    client_host: str
    client_id: str | None
    """None: it has not said yet."""
    client_software: str
    """Its name and version, such as "confluent-kafka-python 2.10.0"; empty: it did not say."""


def look_at_connections(connections: Iterable[Connection]) -> list[ConnectionView]:
    """These connections."""
    return [
        ConnectionView(
            connection.node.node_id,
            connection.listener.name,
            connection.client_host,
            connection.client_id,
            connection.client_software,
        )
        for connection in connections
    ]

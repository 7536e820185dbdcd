"""The seam for what runs with a broker and is no part of it, such as an HTTP API beside Kafka's.

    parts assembled ─▶ bind ─▶ listeners bound, data directory read ─▶ before_clients ─▶ clients accepted ─▶ started

An attachment does what it wants to at these three moments. Its server socket goes to `Sockets.add`, which accepts and
closes it with all others; its own work is entered in `Services`, which closes it when the broker stops.
"""

from __future__ import annotations


class Attachment:
    """Something that is attached to a server before it runs. By itself no method does anything."""

    async def bind(self) -> None:
        """Bind server sockets. The parts of the broker exist; nothing is read from disk yet.

        Raises `MachineRefused` and `ConfigError`, which end the start.
        """

    async def before_clients(self) -> None:
        """Change what clients will find. The data directory is read; no socket accepts yet.

        Raises `MachineRefused` and `ConfigError`, which end the start.
        """

    def started(self) -> None:
        """Begin work that lasts until the broker stops. All sockets accept."""

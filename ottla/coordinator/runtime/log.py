"""What machines write to, as their owners see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ottla.coordinator.runtime.effects import Writer
from ottla.coordinator.runtime.records import Record
from ottla.protocol.errors import ErrorCode


class Log(Protocol):
    """The partitions of an internal topic."""

    def append(self, partition: int, records: Sequence[Record], /) -> ErrorCode:
        """Append the records as one batch: all of them or none, and say why not. What is NONE is durable.

        Raises `AppendHeld` when it is to wait.
        """

    def append_in_transaction(self, partition: int, records: Sequence[Record], writer: Writer, /) -> ErrorCode:
        """The same as part of a producer's transaction: they count when it is committed."""

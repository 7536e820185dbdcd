"""`Refused`: why one item of an admin request can't be done, as the client is told it.

Admin requests are checked in many steps that call each other, and any step may be the last; so this is raised where
the fault is found, and caught where the item's result is written. A message of None is told as null; Kafka has texts
for some refusals and none for others.
"""

from __future__ import annotations

from ottla.protocol.errors import ErrorCode


class Refused(Exception):
    """One item of a request is refused."""

    def __init__(self, error_code: ErrorCode, message: str | None = None) -> None:
        super().__init__(error_code.name, message)
        self.error_code = error_code
        self.message = message

"""Connections that have answers which have not left: each is written to once, with all that is ready for it by then.

An answer that is given while its own connection takes up requests leaves when that one is through with them. Any other,
such as a fetch's that waited for records, or a member's when the last one has joined, has its connection put in here.
They leave at the latest in the next turn of the loop, and often before:

- A connection that is through with taking up requests first sends what other clients are owed by then: a consumer that
  has waited for these records gets them before their producer gets its answer.
- Where a thousand are answered at once, the first few are written to while the rest of the answers is still made. So
  their clients are at work meanwhile, and not all of them in one go afterwards.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

#: So many connections are written to together. Fewer would be more switching to and fro between the answers and the
#: system, more would leave clients waiting.
WRITTEN_TOGETHER: Final = 32


class Sender(Protocol):
    """A connection."""

    def write_ready(self) -> None:
        """Hand the answers whose turn has come to the socket."""

    def flush(self) -> None:
        """The same, and take up what was waiting for that."""


class Outbox:
    """The connections of a process that have something to send."""

    __slots__ = ("_written", "senders")

    def __init__(self) -> None:
        #: Those that are in here.
        self.senders: list[Sender] = []
        #: How many of them were written to since they were put in. They stay: they may have to go on with something.
        self._written = 0

    def put(self, sender: Sender) -> None:
        """Flush it in the next turn of the loop. It must not be in here already."""
        senders = self.senders
        if not senders:
            asyncio.get_running_loop().call_soon(self._empty)
        elif len(senders) - self._written == WRITTEN_TOGETHER:
            self.write()  # before it: there may be more to come for this one
        senders.append(sender)

    def write(self) -> None:
        """Write what is ready now."""
        senders = self.senders
        ready = senders[self._written :] if self._written else senders
        self._written = len(senders)
        for sender in ready:
            try:
                sender.write_ready()
            except Exception as error:  # neither the others have a part in it, nor the client that is answered just now
                message = "answers could not be written"
                asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})

    def _empty(self) -> None:
        senders, self.senders, self._written = self.senders, [], 0
        self._flush(senders)

    def _flush(self, senders: list[Sender]) -> None:
        left = iter(senders)
        try:
            for sender in left:
                sender.flush()
        finally:
            if others := list(left):  # one has raised; they have no part in that
                asyncio.get_running_loop().call_soon(self._flush, others)

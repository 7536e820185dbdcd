"""What the broker holds for its clients that they could make it hold without end, and a bound for all of them together.

One client alone is bounded by what a frame and an answer may be; but there may be thousands of clients. So each
connection says how much it holds of a kind, and when that is too much for all together, the hungriest is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Holder(Protocol):
    """A connection."""

    def give_up(self, reason: str, /) -> None:
        """Close at once."""

    def add_closed_callback(self, callback: Callable[[Holder], object], /) -> None:
        """Call this when it is gone."""

    def remove_closed_callback(self, callback: Callable[[Holder], object], /) -> None:
        """Do not call it any more."""


class Holdings:
    """Bytes of one kind, by connection."""

    __slots__ = ("_bytes_max", "_held", "_what", "bytes_held")

    def __init__(self, what: str, bytes_max: int) -> None:
        """`what`: for the log line of a connection that is closed."""
        self.bytes_held = 0
        self._what = what
        self._bytes_max = bytes_max
        self._held: dict[Holder, int] = {}

    def hold(self, connection: Holder, size: int) -> None:
        """The connection now holds so many bytes, until it says otherwise or is gone. A connection may be closed for
        it, be it another or this one.

        A connection that is the only one to hold some may have as much as one may.
        """
        former = self._held.pop(connection, 0)
        self.bytes_held += size - former
        if size:
            self._held[connection] = size
            if not former:
                connection.add_closed_callback(self._forget)
        elif former:
            connection.remove_closed_callback(self._forget)
        while self.bytes_held > self._bytes_max and len(self._held) > 1:
            hungriest = max(self._held, key=self._held.__getitem__)
            held = self._held[hungriest]
            self._forget(hungriest)
            hungriest.give_up(f"{held} bytes of {self._what}; all clients together may have {self._bytes_max}")

    def _forget(self, connection: Holder) -> None:
        self.bytes_held -= self._held.pop(connection, 0)

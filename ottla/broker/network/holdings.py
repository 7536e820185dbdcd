"""What the broker holds for its clients that they could make it hold without end, and a bound for all of them together.

One client alone is bounded by what a frame and an answer may be; but there may be thousands of clients. So each
connection says how much it holds of a kind, and when that is too much for all together, the hungriest is closed.
"""

from __future__ import annotations

from typing import Protocol


class Holder(Protocol):
    """A connection."""

    def give_up(self, reason: str, /) -> None:
        """Close at once."""


class Holdings:
    """Bytes of one kind, by connection."""

    __slots__ = ("_bytes_max", "_held", "_what", "bytes_held")

    def __init__(self, what: str, bytes_max: int) -> None:
        """`what`: for the log line of who is closed."""
        self.bytes_held = 0
        self._what = what
        self._bytes_max = bytes_max
        self._held: dict[Holder, int] = {}

    def hold(self, connection: Holder, size: int) -> None:
        """The connection now holds so many bytes. Somebody may be closed for it, be it another or this one.

        Who is alone with it may have as much as one may.
        """
        self.bytes_held += size - self._held.pop(connection, 0)
        if size:
            self._held[connection] = size
        while self.bytes_held > self._bytes_max and len(self._held) > 1:
            hungriest = max(self._held, key=self._held.__getitem__)
            held = self._held[hungriest]
            self.bytes_held -= self._held.pop(hungriest)
            hungriest.give_up(f"{held} bytes of {self._what}; all clients together may have {self._bytes_max}")

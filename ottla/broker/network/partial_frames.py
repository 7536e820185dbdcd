"""A frame that is not there completely: a buffer of its own, into which the rest of it is received.

A length costs nothing: the buffer is at most a few times as large as what has come of the frame, and grows when that is
full. The last one of a large frame becomes the request's bytes as it is, for a copy would cost as much memory again.
"""

from __future__ import annotations

from io import BytesIO
from math import ceil
from typing import TypeAlias

from ottla.broker.network.limits import FRAME_BUFFER_BYTES_COUNTED, FRAME_BUFFER_BYTES_FIRST, FRAME_BUFFER_GROWTH


class PartialFrame:
    """The beginning of a frame, its size included, or all of a small one. When it is full it is read as what came."""

    __slots__ = ("_filled", "bytes_counted", "data")

    def __init__(self, beginning: memoryview, size: int) -> None:
        """`size`: of the frame, as far as it is known."""
        self._filled = filled = len(beginning)
        self.data = bytearray(min(size, max(FRAME_BUFFER_GROWTH * filled, FRAME_BUFFER_BYTES_FIRST)))
        self.data[:filled] = beginning
        #: What it counts for among what all clients may have sent in part.
        self.bytes_counted = len(self.data) if len(self.data) > FRAME_BUFFER_BYTES_COUNTED else 0

    def room(self) -> memoryview:
        """Where the next bytes go."""
        return memoryview(self.data)[self._filled :]

    def fill(self, nbytes: int) -> bool:
        """So many more are there; returns whether it is full."""
        self._filled += nbytes
        return self._filled == len(self.data)


class LargeFrame:
    """All of a large frame but its size."""

    __slots__ = ("_body", "_filled", "_size", "bytes_counted")

    def __init__(self, beginning: memoryview, size: int) -> None:
        """`size`: of the frame, its size included, which `beginning` begins with."""
        self.bytes_counted = size
        self._size, self._filled = size - 4, len(beginning) - 4
        self._body = BytesIO(bytes(self._size))  # there is no other reference, so neither this nor `getvalue` copies it
        self._body.getbuffer()[: self._filled] = beginning[4:]

    def room(self) -> memoryview:
        return self._body.getbuffer()[self._filled :]

    def fill(self, nbytes: int) -> bool:
        self._filled += nbytes
        return self._filled == self._size

    def take(self) -> bytes:
        """Its bytes. While there is a reference to the `room`, getting them copies them."""
        return self._body.getvalue()


Partial: TypeAlias = PartialFrame | LargeFrame


def begin_frame(beginning: memoryview, size: int) -> Partial:
    """For a frame of so many bytes, its size included; `beginning` is what is there of it."""
    if size <= FRAME_BUFFER_BYTES_COUNTED:
        return PartialFrame(beginning, size)
    if size <= FRAME_BUFFER_GROWTH * len(beginning):
        return LargeFrame(beginning, size)
    # No further than to where the large one can begin, for what is there then is copied in one piece.
    return PartialFrame(beginning, ceil(size / FRAME_BUFFER_GROWTH))

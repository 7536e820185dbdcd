"""What comes out of compressed bytes: collected piece by piece, and held to its bounds at each."""

from __future__ import annotations

from typing import Final

from ottla.pacing import charge_unpacked
from ottla.protocol.batch_error import DecompressionLimitError, RequestLimitError

#: How much a codec may be asked for in one go: a fraction of a millisecond, and no more memory than there is to unpack.
STEP_BYTES: Final = 128 * 1024


class Unpacked:
    """What came out so far, and how much more may."""

    __slots__ = ("bytes_left", "data", "limit_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.data = bytearray()
        self.bytes_left = self.limit_bytes = limit_bytes

    def add(self, part: bytes | memoryview) -> None:
        """Raises `DecompressionLimitError`; `RequestLimitError` if it is too much for the whole request."""
        self.bytes_left -= len(part)
        if self.bytes_left < 0:
            raise DecompressionLimitError(self.limit_bytes)
        if not charge_unpacked(len(part)):
            raise RequestLimitError("bytes")
        self.data += part

"""`ottla.source: TOPIC_ID:OFFSET`, the header by which a mirrored record says which it is (transforms/mirror.py)."""

from __future__ import annotations

from typing import Final

SOURCE_HEADER: Final = "ottla.source"


def read_mark(value: bytes) -> tuple[str, int] | None:
    """Topic id and offset; None if it is no such header."""
    topic_id, colon, offset = value.partition(b":")
    if not (topic_id and colon and topic_id.isascii() and offset.isdigit()):
        return None
    return topic_id.decode(), int(offset)

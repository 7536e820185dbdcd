"""Codecs by other people, behind what the tests ask of them.

knows(kind, version)            has it this message, in this version?
encode(message, version)        its bytes for the same values
decode(kind, version, frame)    what it reads, as one of our messages
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.protocol.strategies import FieldLayout


def each(field: FieldLayout, value: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert a field's value, or those of its elements; null stays null."""
    if value is None:
        return None
    return [convert(item) for item in value] if field.is_array else convert(value)

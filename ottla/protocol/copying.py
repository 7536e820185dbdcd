"""Messages are copied before they are changed: other parts may refer to them too.

An answer may be sent again, to other clients, and a connection may remember a request. Code that hands out a message,
or lets it be changed, copies it first.
"""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

from ottla.protocol.primitives import Message

M = TypeVar("M", bound=Message)


def changed(message: M, **fields: Any) -> M:
    """A copy of a message with other values in some of its fields."""
    other = copy(message)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def copied(message: M) -> M:
    """A copy that may be changed down to its last field. Records that are a view of a log can only be read by it."""
    return changed(message, **{name: _copied(getattr(message, name)) for name in message.__slots__})


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, memoryview):
        return value.toreadonly()
    return copied(value) if isinstance(value, Message) else value

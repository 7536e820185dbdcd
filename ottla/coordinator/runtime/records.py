"""Records of an internal topic: how they are framed, and what can go wrong when one is read.

    key      int16 the record's type, then the rest of the key
    value    int16 the value's version, then the rest; null: a tombstone, what was under the key is gone

The last record of a key wins, so the log can be compacted.
Kafka: CoordinatorRecordSerde; GroupCoordinatorRecordSerde and TransactionLog are two of it.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeAlias, TypeVar

from ottla.protocol.primitives import STRING_BYTES_MAX, DecodeError, Message

#: A record: key and value; None: a tombstone.
Record: TypeAlias = tuple[bytes, bytes | None]

INT16: Final = Struct(">h")
_UTF8_BYTES_MAX: Final = 3  # of a UTF-16 unit

M = TypeVar("M", bound=Message)


class CorruptRecordError(ValueError):
    """A record of an internal topic that can't be read: the partition can't be loaded."""


def is_writable(text: str) -> bool:
    """Whether a string that a client sent fits into a record: what its bytes were may have grown by replacements."""
    return len(text) * _UTF8_BYTES_MAX <= STRING_BYTES_MAX or len(text.encode()) <= STRING_BYTES_MAX


def prefix(data: bytes, what: str) -> int:
    """The type at the head of a key, the version at the head of a value; `what` names it in the error."""
    if len(data) < INT16.size:
        raise CorruptRecordError(f"the {what} of a record has {len(data)} bytes, too few for its type")
    value: int = INT16.unpack_from(data)[0]
    return value


def decode(message: type[M], data: bytes, version: int) -> M:
    """What comes after the prefix. Raises `CorruptRecordError`."""
    if version not in message.READERS:
        raise CorruptRecordError(f"{message.__name__} v{version} is not known here")
    try:
        return message.decode(data, version, INT16.size)
    except DecodeError as error:
        raise CorruptRecordError(f"a record can't be read: {error}") from error

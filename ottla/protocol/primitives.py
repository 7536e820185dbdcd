"""What the generated codecs share: bounds, varints, tag sections, and the class every message derives from.

Bytes from outside are hostile, so decoding follows three rules:

1. A position only ever grows. A slice that would reach beyond the frame comes out short, and leaves the position past
   the end; the next fixed field, or the check when the message is complete, turns that into a `DecodeError`. So one
   comparison at the end covers every string and byte field of the message.
2. Nothing is allocated by a length that has not been held against what is left: an array's count may not exceed the
   bytes that follow it, since each element takes at least one.
3. A varint has at most five bytes.

Bytes left over after a message are ignored, as Kafka ignores them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
#: (frame, position) -> (message, position after it)
Reader: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
#: Appends the parts of a message to the list; large records are appended as they are, without a copy.
Writer: TypeAlias = Callable[[Any, list[Buffer]], None]
TaggedFields: TypeAlias = dict[int, bytes]

#: Topic and directory ids are 16 raw bytes; nobody needs more of them than equality.
ZERO_UUID: Final = bytes(16)


class DecodeError(ValueError):
    """The bytes are not a message of this API and version; the text says what was wrong, and where."""


class Message:
    """A message or a struct of one: plain slots, compared and printed field by field.

    Generated subclasses list their fields in `__slots__`; those with flexible versions end with
    `unknown_tagged_fields`, which keeps what a newer peer sent, by tag (None: nothing).
    """

    __slots__: tuple[str, ...] = ()

    #: By version. Filled in at the end of each generated module, for messages only.
    READERS: ClassVar[dict[int, Reader]]
    WRITERS: ClassVar[dict[int, Writer]]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in self.__slots__
            if name != "unknown_tagged_fields" or getattr(self, name)
        )
        return f"{self.__class__.__qualname__}({values})"

    @classmethod
    def decode(cls, frame: bytes, version: int, position: int = 0) -> Self:
        """Read a message of this version that starts at `position`. Raises `DecodeError`."""
        message: Self
        try:
            message, end = cls.READERS[version](frame, position)
        except (struct.error, IndexError):
            raise DecodeError(f"{cls.__name__} v{version} is cut short after {len(frame)} bytes") from None
        if end > len(frame):
            raise DecodeError(f"{cls.__name__} v{version} claims {end - len(frame)} bytes more than the frame has")
        return message

    def encode(self, version: int) -> bytes:
        """The bytes of this message in this version. Fields the version does not have are left out."""
        parts: list[Buffer] = []
        self.WRITERS[version](self, parts)
        return b"".join(parts)


def fail_null(field: str) -> NoReturn:
    """A field is null where the version does not allow it."""
    raise DecodeError(f"{field} is null, which this version does not allow")


def fail_count(field: str, count: int) -> NoReturn:
    """An array claims more elements than there are bytes."""
    raise DecodeError(f"{field} claims {count} elements, more than there are bytes left")


def fail_tag(field: str) -> NoReturn:
    """A tagged field is longer than the size given for it."""
    raise DecodeError(f"tagged field {field} does not fit its size")


def read_unsigned_varint(frame: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits: seven bits a byte, least significant first.

    As in Kafka it comes back as a signed int, so what has bit 31 set is negative: a null length, an empty count.
    """
    value = shift = 0
    while True:
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return value if value < 0x80000000 else value - 0x100000000, position
        shift += 7
        if shift > 28:
            raise DecodeError(f"the varint that ends at byte {position} has more than five bytes")


def _unsigned_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_SHORT_VARINTS: Final = tuple(_unsigned_varint(value) for value in range(1024))


def unsigned_varint(value: int) -> bytes:
    """The bytes of an unsigned varint; the short ones, nearly all there are, come from a table."""
    return _SHORT_VARINTS[value] if value < 1024 else _unsigned_varint(value)


def read_tagged_fields(frame: bytes, position: int) -> tuple[TaggedFields, int]:
    """Read a tag section: a count, then (tag, size, bytes) each. Of a tag that comes twice the last value counts."""
    count, position = read_unsigned_varint(frame, position)
    if count > len(frame) - position:
        fail_count("the tag section", count)
    fields: TaggedFields = {}
    for _ in range(count):
        tag, position = read_unsigned_varint(frame, position)
        size, position = read_unsigned_varint(frame, position)
        end = position + size
        if size < 0 or end > len(frame):
            raise DecodeError(f"tagged field {tag} claims {size} bytes, more than there are left")
        fields[tag] = frame[position:end]
        position = end
    return fields, position


def write_tagged_fields(
    fields: list[tuple[int, list[Buffer]]], unknown: TaggedFields | None, parts: list[Buffer]
) -> None:
    """Append a tag section: the known fields, already encoded, and the unknown ones kept from decoding, by tag."""
    sections = [(tag, b"".join(encoded)) for tag, encoded in fields]
    if unknown:
        sections = sorted([*sections, *unknown.items()])
    parts.append(unsigned_varint(len(sections)))
    for tag, encoded in sections:
        parts += (unsigned_varint(tag), unsigned_varint(len(encoded)), encoded)

"""What the generated codecs share: bounds, varints, tag sections, and the class every message derives from.

Bytes from outside are hostile, so decoding follows three rules:

1. A position only ever grows. A slice that would reach beyond the frame comes out short, and leaves the position past
   the end; the next fixed field, or the check when the message is complete, turns that into a `DecodeError`. So one
   comparison at the end covers every string and byte field of the message.
2. Nothing is allocated by a length that has not been held against what is left: an array's count may not exceed the
   bytes that follow it, divided by what each element takes at least. Nor may it be over a million, nor those of a tag
   section over 10,000, as in Kafka 4.4.
3. A varint has at most five bytes.

Arrays of more than a `FEW` elements are counted, and the task may be suspended between their elements: see `pacing`.
Short arrays are counted with what they are in, if that is an element of a long one; alone they are not worth it. With
the elements of long arrays their texts are counted too, by the memory they take.

Bytes left over after a message are ignored, as Kafka ignores them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import getsizeof
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias, TypeVar

from ottla.pacing import FEW_ELEMENTS, charge_elements, costs, paced, paced_parts

T = TypeVar("T")
Buffer: TypeAlias = bytes | bytearray | memoryview
#: (frame, position) -> (message, position after it)
ReadMessage: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
#: Appends the parts of a message to the list; large records are appended as they are, without a copy.
WriteMessage: TypeAlias = Callable[[Any, list[Buffer]], None]
TaggedFields: TypeAlias = dict[int, bytes]

#: An int16 length can say no more, and compact strings are held to the same.
STRING_BYTES_MAX: Final = 0x7FFF

#: Arrays up to this length are not worth counting on their own.
FEW: Final = FEW_ELEMENTS
#: Kafka 4.4: MessageUtil.
ARRAY_ELEMENTS_MAX: Final = 1_000_000
TAGGED_FIELDS_MAX: Final = 10_000

#: Topic and directory ids are 16 raw bytes; only equality matters.
ZERO_UUID: Final = bytes(16)

#: The default of a parameter that may be null but isn't unless one says so: see `__init__` of `MetadataRequest`.
LEFT_OUT: Final[Any] = object()


class DecodeError(ValueError):
    """The bytes are not a message of this API and version; the text says what was wrong, and where."""


class EncodeError(ValueError):
    """A value does not fit its field, such as a string of more than 32,767 bytes."""


class Message:
    """A message or a struct of one: plain slots, compared and printed field by field; not hashable, as they change.

    Generated subclasses list their fields in `__slots__`; those with flexible versions end with
    `unknown_tagged_fields`, which keeps what a newer peer sent, by tag (None: nothing).
    """

    __slots__: tuple[str, ...] = ()

    #: What Kafka's schema says of each slot: "name type versions", then "nullable versions" and "tag number versions"
    #: where they apply. For tests and tools; the codec itself was written out from it, and reads only which are arrays.
    LAYOUT: ClassVar[tuple[str, ...]]
    #: By version. Filled in at the end of each generated module, for messages only.
    READERS: ClassVar[dict[int, ReadMessage]]
    WRITERS: ClassVar[dict[int, WriteMessage]]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # as Python has it for what is equal by its changing values

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
        """The bytes of this message in this version. Fields the version does not have are left out.

        Raises `EncodeError`.
        """
        parts: list[Buffer] = []
        try:
            self.WRITERS[version](self, parts)
        except (struct.error, UnicodeEncodeError) as error:
            raise EncodeError(f"{self.__class__.__name__} v{version} cannot be written: {error}") from error
        return b"".join(parts)


#: An element of an array; texts and bytes are themselves.
Element: TypeAlias = Message | str | bytes


def fail_null(field: str) -> NoReturn:
    """A field is null where the version does not allow it."""
    raise DecodeError(f"{field} is null, which this version does not allow")


def fail_count(field: str, count: int) -> NoReturn:
    """An array claims more elements than there are bytes."""
    raise DecodeError(f"{field} claims {count} elements, more than there are bytes left")


def count_elements(field: str, count: int) -> None:
    """An array has so many elements, more than a few."""
    if count > ARRAY_ELEMENTS_MAX:
        raise DecodeError(f"{field} has {count} elements, more than the {ARRAY_ELEMENTS_MAX} it may have")
    charge_elements(count)


def many(field: str, count: int, elements: Sequence[Element] | None = None) -> Iterable[int]:
    """`range(count)` for an array of more than a few elements.

    `elements`: where each is put when it has been read, if it may have texts or arrays of its own.
    """
    count_elements(field, count)
    numbers = paced(range(count))
    return numbers if elements is None or costs() is None else _counting(numbers, elements)


def _counting(numbers: Iterable[int], elements: Sequence[Element]) -> Iterator[int]:
    """The same numbers; of each element that was read in between its short arrays and its texts are counted."""
    for number in numbers:
        yield number
        charge_elements(*contents_of(elements[-1]))


def contents_of(element: Element) -> tuple[int, int]:
    """(what its short arrays count for, what its texts take in memory).

    An array counts for its elements, and for one. Long ones count anyway, with what is in them.
    """
    if not isinstance(element, Message):
        return 0, getsizeof(element)
    texts, arrays = _FIELDS.get(type(element)) or _fields_of(type(element))
    elements = 0
    text_bytes = sum(getsizeof(getattr(element, name)) for name in texts)
    for name in arrays:
        array = getattr(element, name)
        if array and len(array) <= FEW:
            elements += 1 + len(array)
            if type(array[0]) is not int:
                for more_elements, more_bytes in map(contents_of, array):
                    elements += more_elements
                    text_bytes += more_bytes
    return elements, text_bytes


def _fields_of(kind: type[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the fields that are texts, and of those that are arrays."""
    fields = [entry.split() for entry in kind.LAYOUT]
    texts = tuple(name for name, of, *_ in fields if of == "string")
    found = _FIELDS[kind] = texts, tuple(name for name, of, *_ in fields if of.startswith("[]"))
    return found


#: Those names, of each kind of struct that was asked for.
_FIELDS: Final[dict[type[Message], tuple[tuple[str, ...], tuple[str, ...]]]] = {}


def many_tags(count: int) -> Iterable[int]:
    """`range(count)` for a tag section. Nearly all are empty, so every one that is not is counted."""
    if count > TAGGED_FIELDS_MAX:
        raise DecodeError(f"a tag section has {count} fields, more than the {TAGGED_FIELDS_MAX} it may have")
    charge_elements(count)
    return paced(range(count))


def all_of(items: Sequence[T], parts: list[Buffer]) -> Iterable[T]:
    """The elements of an array to be written to these parts, which are more than a few."""
    charge_elements(len(items))
    return paced_parts(items, parts)


def fail_tag(tag: int) -> NoReturn:
    """A tag that only other versions of the message know."""
    raise DecodeError(f"tag {tag} is not part of this version")


def read_length(frame: bytes, position: int) -> tuple[int, int]:
    """Read a compact length, the length + 1, from a varint: seven bits a byte, least significant first.

    As in Kafka it is an int32, so what has bit 31 set comes back below zero, which is null as zero is; but the lowest
    of them, less 1, wraps round to a length that no frame has.
    """
    value = shift = 0
    while True:
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return value if value <= 0x80000000 else value - 0x100000000, position
        shift += 7
        if shift > 28:
            raise DecodeError(f"the varint that ends at byte {position} has more than five bytes")


def read_unsigned_varint(frame: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint that is no length: a tag, a size, a number of tags. Bit 31 is the sign, as in Kafka."""
    value, position = read_length(frame, position)
    return value if value < 0x80000000 else -0x80000000, position


def read_string_length(frame: bytes, position: int) -> tuple[int, int]:
    """Read the compact length of a string, which is bounded by what an int16 could say."""
    value, position = read_length(frame, position)
    if value > STRING_BYTES_MAX + 1:
        raise DecodeError(f"a string claims {value - 1} bytes, more than any may have")
    return value, position


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


def string_length(value: int) -> bytes:
    """The bytes of a string's compact length (its bytes + 1)."""
    if value < 1024:
        return _SHORT_VARINTS[value]
    if value > STRING_BYTES_MAX + 1:
        raise EncodeError(f"a string has {value - 1} bytes, more than the {STRING_BYTES_MAX} it may have")
    return _unsigned_varint(value)


def read_tag_count(frame: bytes, position: int) -> tuple[int, int]:
    """Read how many fields a tag section has."""
    count, position = read_unsigned_varint(frame, position)
    if count < 0:
        raise DecodeError(f"the tag section claims {count} fields")
    if count > len(frame) - position:
        fail_count("the tag section", count)
    return count, position


def read_tag(frame: bytes, position: int) -> tuple[int, int, int]:
    """Read what precedes a tagged field: its tag and its size; the third is where it starts."""
    tag, position = read_unsigned_varint(frame, position)
    size, position = read_unsigned_varint(frame, position)
    return tag, size, position


def read_tag_bytes(frame: bytes, position: int, size: int) -> tuple[bytes, int]:
    """Read an unknown tagged field."""
    end = position + size
    if size < 0 or end > len(frame):
        raise DecodeError(f"a tagged field claims {size} bytes, more than there are left")
    return frame[position:end], end


def read_tagged_fields(frame: bytes, position: int) -> tuple[TaggedFields, int]:
    """Read a tag section of which nothing is known. Of a tag that comes twice the last value counts."""
    count, position = read_tag_count(frame, position)
    fields: TaggedFields = {}
    for _ in many_tags(count):
        tag, size, position = read_tag(frame, position)
        fields[tag], position = read_tag_bytes(frame, position, size)
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

"""Zig-zag varints as records use them: Kafka's ByteUtils.readVarint, readVarlong and their writers.

Zig-zag puts the sign into the lowest bit (0, -1, 1, -2 → 0, 1, 2, 3), then seven bits go into each byte, the least
significant first, with the top bit set in all but the last. An int has at most five bytes and a long ten; bits beyond
32 or 64 are dropped silently, as Kafka drops them.
"""

from __future__ import annotations

from typing import Final

from ottla.protocol.primitives import Buffer, unsigned_varint


class VarintError(ValueError):
    """A varint did not end within its five or ten bytes. Where the buffer ends first, it is an IndexError."""


def read_unsigned(buffer: Buffer, position: int, bytes_max: int) -> tuple[int, int]:
    """Read seven bits a byte, without undoing the zig-zag. Returns (value, position after it)."""
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift == 7 * bytes_max:
            raise VarintError(f"the varint that ends at byte {position} has more than {bytes_max} bytes")


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a signed 32-bit integer. Returns (value, position after it)."""
    value = buffer[position]
    if value < 0x80:  # nearly always, so it pays to ask
        return value >> 1 ^ -(value & 1), position + 1
    value, position = read_unsigned(buffer, position, 5)
    value &= 0xFFFFFFFF
    return value >> 1 ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read a signed 64-bit integer. Returns (value, position after it)."""
    value = buffer[position]
    if value < 0x80:
        return value >> 1 ^ -(value & 1), position + 1
    value, position = read_unsigned(buffer, position, 10)
    value &= 0xFFFFFFFFFFFFFFFF
    return value >> 1 ^ -(value & 1), position


def _varint(value: int) -> bytes:
    return unsigned_varint(value << 1 ^ value >> 63)


#: The varints of 0..1023: nearly all lengths and offset deltas there are.
SHORT_VARINTS: Final = tuple(_varint(value) for value in range(1024))


def varint(value: int) -> bytes:
    """The bytes of a signed integer of up to 64 bits."""
    return SHORT_VARINTS[value] if 0 <= value < 1024 else _varint(value)

"""Where a Java hash shows: which partition keeps a group, and which protocol wins among equal votes.

Both follow from `String.hashCode`, which is fixed by Java's specification. A tie is decided by the order in which a
`java.util.HashMap` iterates, and that follows from the hash and the size of its table:

    slot = (hash ^ hash >>> 16) & (slots - 1)      16 slots at first; twice as many when three quarters are taken

    "range" -> slot 12, "roundrobin" -> slot 15:   "range" comes first and wins

Entries of one slot keep the order they came in, and keep it when the table grows. Not followed: a slot with nine
entries in a table of 64 or more becomes a tree, whose order depends on balancing. It takes nine protocols of equal
votes whose hashes agree in six bits.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_UTF_16: Final = f"utf-16-{sys.byteorder[0]}e"
#: Of the names that were hashed last so many are remembered, unless they are long: few are in use at a time, and each
#: request asks for one.
_REMEMBERED_MAX: Final = 1024
_REMEMBERED_LENGTH_MAX: Final = 128
#: A text of more letters than these is hashed in another way.
_LETTERS_FEW: Final = 400
_LANE_MASK: Final = bytes(4) + b"\xff" * 4
_SLOTS_AT_FIRST: Final = 16
_SLOT_ENTRIES_MAX: Final = 8  # one more, and a small table grows instead of making a tree of them
_SLOTS_FOR_TREES: Final = 64


def string_hash(text: str) -> int:
    """Java's `text.hashCode()`: over the UTF-16 units, h = 31 * h + unit, in 32 bits with sign."""
    return _remembered_hash(text) if len(text) <= _REMEMBERED_LENGTH_MAX else _hash(text)


def _hash(text: str) -> int:
    if len(text) > _LETTERS_FEW:
        value = _fold(text.encode("utf-16-be", "surrogatepass"))
    else:
        value = 0
        for unit in memoryview(text.encode(_UTF_16, "surrogatepass")).cast("H"):
            value = (31 * value + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value


_remembered_hash: Final = lru_cache(_REMEMBERED_MAX)(_hash)


def _fold(units: bytes) -> int:
    """The hash of a long text, without its sign: an id may have 32 KB, and a client sends as many as it likes.

    The units stand in lanes of 64 bits of one integer. Its two halves are made one by 31 ** (length of a half) * first
    + second, in all lanes at once, until one lane is left. Zeros in front change nothing.
    """
    lanes = 1 << (len(units) // 2 - 1).bit_length()
    packed = bytearray(8 * lanes)
    first = 8 * lanes - 4 * len(units)
    packed[first + 6 :: 8], packed[first + 7 :: 8] = units[0::2], units[1::2]
    value = int.from_bytes(packed, "big")
    while lanes > 1:
        lanes //= 2
        half_bits = 64 * lanes
        lane_mask = int.from_bytes(_LANE_MASK * lanes, "big")
        power = pow(31, lanes, 1 << 32)
        value = ((value >> half_bits) * power + (value & (1 << half_bits) - 1)) & lane_mask
    return value


def partition_for(group_id: str, partitions: int) -> int:
    """Which partition of __consumer_offsets keeps a group. Kafka: GroupCoordinatorService.partitionFor."""
    value = string_hash(group_id)
    return (0 if value == -0x80000000 else abs(value)) % partitions  # Utils.abs: the lowest int32 has no opposite


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """The order in which a `java.util.HashMap` iterates over its keys, after they were put in one by one."""
    slots: list[list[tuple[int, str]]] = [[] for _ in range(_SLOTS_AT_FIRST)]
    for size, key in enumerate(dict.fromkeys(keys), start=1):
        value = string_hash(key) & 0xFFFFFFFF
        spread = value ^ value >> 16
        slot = slots[spread & len(slots) - 1]
        slot.append((spread, key))
        if len(slot) > _SLOT_ENTRIES_MAX and len(slots) < _SLOTS_FOR_TREES:
            slots = _twice(slots)
        if size > len(slots) * 3 // 4:
            slots = _twice(slots)
    return [key for slot in slots for _, key in slot]


def _twice(slots: list[list[tuple[int, str]]]) -> list[list[tuple[int, str]]]:
    grown: list[list[tuple[int, str]]] = [[] for _ in range(2 * len(slots))]
    for slot in slots:
        for entry in slot:
            grown[entry[0] & len(grown) - 1].append(entry)
    return grown

"""Where a Java hash shows: which partition keeps a group, and who wins when protocols have equal votes.

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
_SLOTS_AT_FIRST: Final = 16
_SLOT_ENTRIES_MAX: Final = 8  # one more, and a small table grows instead of making a tree of them
_SLOTS_FOR_TREES: Final = 64


def string_hash(text: str) -> int:
    """Java's `text.hashCode()`: over the UTF-16 units, h = 31 * h + unit, in 32 bits with sign."""
    return _remembered_hash(text) if len(text) <= _REMEMBERED_LENGTH_MAX else _hash(text)


def _hash(text: str) -> int:
    units = memoryview(text.encode(_UTF_16, "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value


_remembered_hash: Final = lru_cache(_REMEMBERED_MAX)(_hash)


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

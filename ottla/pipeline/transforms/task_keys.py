"""A task of its own for each partition.

`repartition(tasks, column)` chooses a task by a hash of the column, and a hash of few numbers meets itself: of four
partitions two would share a task, and of two both be in one, while a core has nothing to do. So a column of other
numbers is given to it, of which is known where its hash sends them.
"""

from __future__ import annotations

from itertools import count
from typing import Final

_MASK: Final = 0xFFFFFFFF
_INT_BYTES: Final = 4
#: Spark: HashPartitioning.partitionIdExpression.
_HASH_SEED: Final = 42


def task_keys(tasks: int) -> list[int]:
    """For each of so many tasks, a number that `repartition` sends to it."""
    found: dict[int, int] = {}
    keys = count()
    while len(found) < tasks:
        key = next(keys)
        found.setdefault(_hash(key) % tasks, key)
    return [found[task] for task in range(tasks)]


def _hash(number: int) -> int:
    """Spark's hash of an int: Murmur3 of 32 bits, with the seed that `repartition` has; its result has a sign."""
    block = _rotated(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    mixed = (_rotated(_HASH_SEED ^ block, 13) * 5 + 0xE6546B64 & _MASK) ^ _INT_BYTES
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _MASK
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK

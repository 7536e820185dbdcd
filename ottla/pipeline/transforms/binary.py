"""Kafka's primitive types, read from a binary column by Spark's own expressions: no Python in the executors.

Positions count from 1, as in SQL, and are numbers or columns. What lies beyond the end of the bytes is null, never an
error, and a field after a null one is null too, so a caller asks once, at the end, whether everything was there.

Spark writes an expression out wherever it is used, and one position depends on the length before it; a caller puts
positions into columns of their own (`withColumns`), step by step.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

#: Of an unsigned varint of 32 bits.
_VARINT_BYTES_MAX: Final = 5
_MORE: Final = 0x80
_HEXADECIMAL: Final = 16
_SIGNED_DECIMAL: Final = -10
_INT64_BYTES: Final = 8


def slice_at(data: Column, position: Column | int, length: Column | int) -> Column:
    """So many bytes from there; null if there are fewer, or the length is negative."""
    position, length = _column(position), _column(length)
    is_there = (length >= 0) & (position + length - 1 <= F.length(data))
    return F.when(is_there, F.substring(data, position, length))


def int_at(data: Column, position: Column | int, size: int) -> Column:
    """A signed big-endian integer of `size` bytes, as a bigint."""
    digits = F.hex(slice_at(data, position, size))
    number = F.conv(digits, _HEXADECIMAL, _SIGNED_DECIMAL).cast("bigint")
    if size == _INT64_BYTES:
        return number
    return F.when(number >= 1 << (8 * size - 1), number - (1 << 8 * size)).otherwise(number)


def varint_bytes_at(data: Column, position: Column | int) -> Column:
    """How many bytes an unsigned varint has: 1 to 5; null if it has no end."""
    ends = [(F.lit(index + 1), _byte_at(data, position, index) < _MORE) for index in range(_VARINT_BYTES_MAX)]
    return F.coalesce(*(F.when(is_end, size) for size, is_end in ends))


def varint_at(data: Column, position: Column | int, size: Column) -> Column:
    """An unsigned varint of `size` bytes, as a bigint."""
    parts = (
        F.when(size > index, _byte_at(data, position, index).bitwiseAND(_MORE - 1) * (1 << 7 * index)).otherwise(0)
        for index in range(_VARINT_BYTES_MAX)
    )
    return F.when(size.isNotNull(), reduce(add, parts))


def text(data: Column) -> Column:
    """Bytes as UTF-8 text."""
    return data.cast("string")


def _byte_at(data: Column, position: Column | int, index: int) -> Column:
    """An unsigned byte."""
    digits = F.hex(slice_at(data, position + index, 1))
    return F.conv(digits, _HEXADECIMAL, -_SIGNED_DECIMAL).cast("bigint")


def _column(value: Column | int) -> Column:
    return F.lit(value) if isinstance(value, int) else value

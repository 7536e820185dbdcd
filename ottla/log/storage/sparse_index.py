"""The index of a segment on disk: an entry for every 4 KiB of log, from where the batches are looked at one by one.

    .index       (last offset of a batch, its position)                       4 + 4 bytes
    .timeindex   (largest timestamp so far, offset of the batch that has it)  8 + 4 bytes

Both are in Kafka's format: big endian, offsets relative to the segment's base. An entry of the first is, read as one
number of eight bytes, ordered as its offset, so one array and one bisection do. They only shorten the way and can be
made anew from the log at any time; so what is found in a file is believed only if it is in order.

Entries go to the files a page at a time and when the segment is let go. Kafka: OffsetIndex, TimeIndex, LogSegment.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ottla.log.storage.files import read_file
from ottla.log.storage.segment import INDEX_INTERVAL_BYTES

if TYPE_CHECKING:
    from ottla.log.storage.file_operations import FileOperations

INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"

_ENTRY_BYTES: Final = 8
_LOW: Final = 0xFFFF_FFFF
_TIME: Final = struct.Struct(">qi")
_UNSAVED_ENTRIES_MAX: Final = 512


class SparseIndex:
    """The entries of one segment, all of them in memory; what is not on disk yet is known by number."""

    __slots__ = (
        "_bytes_since_entry",
        "_entries",
        "_entries_saved",
        "_has_files",
        "_max_timestamp_offset",
        "_times",
        "_times_saved",
    )

    def __init__(self) -> None:
        self._entries = array("Q")
        self._times = array("q")  # timestamp, relative offset, timestamp, relative offset, …
        self._entries_saved = 0
        self._times_saved = 0
        self._has_files = False
        self._bytes_since_entry = 0
        self._max_timestamp_offset = 0

    @property
    def size_bytes(self) -> int:
        """The memory it takes."""
        return (len(self._entries) + len(self._times)) * _ENTRY_BYTES

    def add(self, relative_last_offset: int, position: int, size: int, max_timestamp: int, max_so_far: int) -> bool:
        """A batch came to the end of the segment. Returns whether it is time to `save`."""
        if max_timestamp > max_so_far:
            self._max_timestamp_offset = relative_last_offset
            max_so_far = max_timestamp
        if self._bytes_since_entry <= INDEX_INTERVAL_BYTES:
            self._bytes_since_entry += size
            return False
        self._bytes_since_entry = size
        self._entries.append(relative_last_offset << 32 | position)
        self._add_time(max_so_far)
        return len(self._entries) - self._entries_saved >= _UNSAVED_ENTRIES_MAX

    def _add_time(self, timestamp: int) -> None:
        if timestamp > (self._times[-2] if self._times else -1):
            self._times.append(timestamp)
            self._times.append(self._max_timestamp_offset)

    def close_times(self, max_timestamp: int) -> None:
        """The segment is complete: its largest timestamp gets an entry. Kafka: LogSegment.onBecomeInactiveSegment."""
        self._add_time(max_timestamp)

    def position_before(self, relative_offset: int) -> int:
        """The position of a batch at or before the one with this offset."""
        return self.entry_before(relative_offset)[1]

    def entry_before(self, relative_offset: int) -> tuple[int, int]:
        """(last offset, position) of a batch at or before the one with this offset; (-1, 0) if there is no entry."""
        number = bisect_right(self._entries, relative_offset << 32 | _LOW)
        if not number:
            return -1, 0
        entry = self._entries[number - 1]
        return entry >> 32, entry & _LOW

    @property
    def last_entry(self) -> tuple[int, int]:
        """(last offset, position) of the last batch that has an entry; (-1, 0) if none has."""
        return self.entry_before(_LOW)

    @property
    def last_time_offset(self) -> int:
        """The offset of the batch that has `last_time`, or -1."""
        return self._times[-1] if self._times else -1

    def offset_from(self, position: int) -> int | None:
        """The last offset of the first batch that has an entry and begins at `position` or after; None: none has."""
        number = bisect_left(self._entries, position, key=_position)
        return self._entries[number] >> 32 if number < len(self._entries) else None

    def last_position(self, before: int) -> int:
        """The position of a batch that begins before the position `before`, the last that is known."""
        number = bisect_left(self._entries, before, key=_position)
        return self._entries[number - 1] & _LOW if number else 0

    def offset_before_time(self, timestamp: int) -> int:
        """A relative offset up to which, as far as is known, the segment had not reached `timestamp`; -1: none."""
        number = bisect_left(range(len(self._times) // 2), timestamp, key=lambda entry: self._times[2 * entry])
        return self._times[2 * number - 1] if number else -1

    @property
    def last_time(self) -> int:
        """The largest timestamp with an entry, or -1."""
        return self._times[-2] if self._times else -1

    def cut(self, position: int) -> None:
        """Forget the entries of batches from `position` on."""
        number = bisect_left(self._entries, position, key=_position)
        last_offset = self._entries[number - 1] >> 32 if number else -1
        del self._entries[number:]
        while self._times and self._times[-1] > last_offset:
            del self._times[-2:]
        self._entries_saved = min(self._entries_saved, len(self._entries))
        self._times_saved = min(self._times_saved, len(self._times))
        self._bytes_since_entry = INDEX_INTERVAL_BYTES + 1 if number else 0

    def save(self, operations: FileOperations, path: str) -> None:
        """Write what is not in the files yet; `path` is the segment's without a suffix. Raises OSError."""
        if self._entries_saved < len(self._entries) or not self._has_files:
            operations.write_tail(
                path + INDEX_SUFFIX, _big_endian(self._entries[self._entries_saved :]), self._entries_saved * 8
            )
            self._entries_saved = len(self._entries)
        if self._times_saved < len(self._times) or not self._has_files:
            fresh = self._times[self._times_saved :]
            data = b"".join(_TIME.pack(fresh[number], fresh[number + 1]) for number in range(0, len(fresh), 2))
            operations.write_tail(path + TIME_INDEX_SUFFIX, data, self._times_saved // 2 * _TIME.size)
            self._times_saved = len(self._times)
        self._has_files = True

    @classmethod
    def load(cls, path: str, size_bytes: int, relative_end: int, *, is_trusted: bool) -> SparseIndex | None:
        """What the files of a segment hold; None if they can't be its: it is `size_bytes` long, and its offsets end
        before `relative_end`. `is_trusted`: only their ends are looked at. Raises OSError."""
        index = cls()
        entries, times = read_file(path + INDEX_SUFFIX), read_file(path + TIME_INDEX_SUFFIX)
        if entries is None or times is None or len(entries) % _ENTRY_BYTES or len(times) % _TIME.size:
            return None if size_bytes else index
        index._entries.frombytes(entries)
        if sys.byteorder == "little":
            index._entries.byteswap()
        for timestamp, offset in _TIME.iter_unpack(times):
            index._times.append(timestamp)
            index._times.append(offset)
        if not index._fits(size_bytes, relative_end) or not (is_trusted or index._is_in_order()):
            return None
        index._has_files = True
        index._entries_saved, index._times_saved = len(index._entries), len(index._times)
        index._bytes_since_entry = INDEX_INTERVAL_BYTES + 1 if index._entries else size_bytes
        index._max_timestamp_offset = index._times[-1] if index._times else 0
        return index

    def _fits(self, size_bytes: int, relative_end: int) -> bool:
        entries, times = self._entries, self._times
        if entries and not (entries[-1] & _LOW < size_bytes and entries[-1] >> 32 < relative_end):
            return False
        return not times or 0 <= times[-1] < relative_end

    def _is_in_order(self) -> bool:
        in_order = all(one < other and one & _LOW < other & _LOW for one, other in pairwise(self._entries))
        return in_order and all(one < other for one, other in pairwise(self._times[0::2]))


def _position(entry: int) -> int:
    return entry & _LOW


def _big_endian(entries: array[int]) -> bytes:
    if sys.byteorder == "little":
        entries.byteswap()
    return entries.tobytes()

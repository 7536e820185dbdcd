"""A segment in a file, named by its base offset, with its index beside it.

    00000000000000000042.log   .index   .timeindex   .txnindex

A batch is handed to the operating system before `append` returns, at the position where the segment ends, so what a
failed write left behind is cut off or written over. A reader gets bytes that stay as they are, whatever happens
to the file: a copy, or from `MAPPED_BYTES_MIN` on a mapping of the file, which costs less
from there on. Only the kernel reads those bytes, so a disk that fails under them ends one connection.

Files are opened when they are needed, see `files.OpenFiles`. A segment that is let go keeps its plain attributes, and
writes down what its index files do not have yet. An index that turns out not to fit is made anew from the log. Bytes
that turn out to be no batches are damage, and take the whole log offline: see `disk.DiskStorage`.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from ottla.log.storage.batch_scan import DamagedError, check, scan, whole_batches
from ottla.log.storage.contract import StorageError
from ottla.log.storage.files import OpenFiles, close_file
from ottla.log.storage.segment import Segment
from ottla.log.storage.segment_recovery import Contents, make_index, measure, recover
from ottla.log.storage.sparse_index import SparseIndex

if TYPE_CHECKING:
    from ottla.log.storage.batch_scan import FoundBatch
    from ottla.protocol.primitives import Buffer

LOG_SUFFIX: Final = ".log"
#: From this size on a mapping costs less than a copy, as measured.
MAPPED_BYTES_MIN: Final = 256 * 1024

_NOWHERE: Final = -1
_READ_WRITE: Final = os.O_RDWR | os.O_CREAT


def file_stem(base_offset: int) -> str:
    """What the names of a segment's files begin with."""
    return f"{base_offset:020d}"


class SegmentLog(Protocol):
    """What a segment needs of the log it belongs to."""

    @property
    def directory(self) -> str:
        """Where its files are."""

    def ensure_directory(self) -> None:
        """Have the directory there. Raises OSError."""

    def check_online(self) -> None:
        """Raise `StorageError` if the log is offline."""

    def fail(self, what: str, path: str, error: Exception) -> NoReturn:
        """Raise `StorageError`, and take the log offline if it can't be relied on any more."""

    def note_name_changed(self) -> None:
        """A file of the log was made."""

    def note_index_rebuilt(self, path: str) -> None:
        """The index of a segment did not fit."""


class DiskSegment(Segment):
    """A segment with its bytes in a file of its log's directory."""

    __slots__ = (
        "_files",
        "_index",
        "_is_tail_unseen",
        "_log",
        "_tail_offset",
        "_tail_position",
        "aborted_saved",
        "fd",
        "is_gone",
        "stem",
        "was_used",
    )

    def __init__(
        self, log: SegmentLog, base_offset: int, created_ms: int, files: OpenFiles, stem: str | None = None
    ) -> None:
        """`stem`: what its files' names begin with, where that is not its base offset."""
        super().__init__(base_offset, created_ms)
        self._log = log
        self._files = files
        self.stem = stem or file_stem(base_offset)
        self.fd = _NOWHERE
        self.was_used = False
        self._index: SparseIndex | None = None
        self._is_tail_unseen = False
        #: The last batch, for readers at the end of the log: offsets from the first on are in it, if it is known.
        self._tail_offset = self._tail_position = _NOWHERE
        #: Whether it has left the log. A reader that still has it is refused; the log is not affected.
        self.is_gone = False
        #: How many of `aborted` are in the file.
        self.aborted_saved = 0

    @property
    def path(self) -> str:
        """Of its files, without a suffix."""
        return f"{self._log.directory}/{self.stem}"

    @property
    def is_swapped_in(self) -> bool:
        """Whether it has taken the place of others, and they may still be there."""
        return self.stem != file_stem(self.base_offset)

    # Writing

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int, wall_ms: int) -> None:
        """Put a batch at the end. Raises `StorageError`."""
        size, position = len(batch), self.size_bytes
        index = self._index or self._load_index()
        try:
            self._files.operations.write_at(self.fd if self.fd >= 0 else self._open(), batch, position)
        except OSError as error:
            self._log.fail("write", f"{self.path}{LOG_SUFFIX}", error)
        self.was_used = True
        is_page_full = index.add(last_offset - self.base_offset, position, size, max_timestamp, self.max_timestamp)
        self._tail_offset, self._tail_position = self.next_offset, position
        self.count(last_offset, max_timestamp, size, wall_ms)
        if is_page_full:
            self._save_index()

    def finish(self) -> None:
        """No batch will come any more."""
        if self.size_bytes:
            (self._index or self._load_index()).close_times(self.max_timestamp)
        self._save_index()

    def _save_index(self) -> None:
        if self._index is not None:
            with suppress(OSError):  # it can be made anew
                self._index.save(self._files.operations, self.path)

    def abandon_index(self) -> None:
        """The segment goes, or its file is given another name: what is not on disk of its index shall not get there."""
        self._index = None

    def leave(self) -> None:
        """The log does without it from now on; its name may soon be another's."""
        self.is_gone = True
        self.abandon_index()
        self.let_go()

    def let_go(self) -> None:
        self._save_index()
        self._index = None
        close_file(self)

    # Reading

    def slice(self, position: int, size: int) -> Buffer:
        if size < MAPPED_BYTES_MIN:
            return self._read(position, size)
        try:
            self.was_used = True
            start = position - position % mmap.ALLOCATIONGRANULARITY
            mapped = mmap.mmap(
                self.fd if self.fd >= 0 else self._open(),
                position - start + size,
                flags=mmap.MAP_SHARED,
                prot=mmap.PROT_READ,
                offset=start,
            )
        except (OSError, ValueError):  # no descriptor or no room for it; or the file is too short, which `_read` tells
            return self._read(position, size)
        return memoryview(mapped)[position - start :]

    def _read(self, position: int, size: int) -> bytes:
        """A copy of `size` bytes from `position`."""
        if size == 0:
            return b""
        try:
            self.was_used = True
            data = os.pread(self.fd if self.fd >= 0 else self._open(), size, position)
        except OSError as error:
            self._log.fail("read", f"{self.path}{LOG_SUFFIX}", error)
        if len(data) != size:
            self._damaged(f"it ends at {position + len(data)} instead of {self.size_bytes}")
        return data

    def find(self, offset: int) -> tuple[int, int]:
        if offset >= self.next_offset:
            return self.size_bytes, 0
        if offset >= self._tail_offset >= 0:
            return self._tail_position, self.size_bytes - self._tail_position
        index = self._index or self._load_index()
        entry_offset, start = index.entry_before(max(0, offset - self.base_offset))
        for batch in self._scan(start):
            if batch.position == start != 0 and batch.last_offset != self.base_offset + entry_offset:
                break
            if batch.last_offset >= offset:
                return batch.position, batch.size_bytes
        if start == 0:
            return self.size_bytes, 0
        self._replace_index()  # it leads to another batch, or beyond all
        return self.find(offset)

    def find_timestamp(self, timestamp: int) -> int:
        if timestamp > self.max_timestamp:
            return self.size_bytes
        index = self._index or self._load_index()
        reached = index.offset_before_time(timestamp)
        start = 0 if reached < 0 else self.find(self.base_offset + reached)[0]
        return next(
            (batch.position for batch in self._scan(start) if batch.max_timestamp >= timestamp), self.size_bytes
        )

    def indexed_offset_from(self, position: int) -> int | None:
        relative_offset = (self._index or self._load_index()).offset_from(position)
        return None if relative_offset is None else self.base_offset + relative_offset

    def batches(self, position: int = 0) -> Iterator[Buffer]:
        try:
            for _, batch in whole_batches(self._read, position, self.size_bytes):
                yield batch
        except DamagedError as damage:
            self._damaged(str(damage))

    def _scan(self, start: int) -> Iterator[FoundBatch]:
        """The batches from an index entry on. If there is none, it is the index that is wrong, or else the log."""
        end = self.size_bytes
        try:
            yield from scan(self._read, start, end)
        except DamagedError:
            try:
                self.rebuild_index()
                yield from scan(self._read, 0, end)
            except DamagedError as damage:
                self._damaged(str(damage))

    # Opening

    def _open(self) -> int:
        """Open the file, and make it if the segment is new. What is there must be as long as it was left."""
        self._check_there()
        self._log.ensure_directory()
        if not self.size_bytes:
            self._log.note_name_changed()
        fd = self._files.open(self, self.path + LOG_SUFFIX, _READ_WRITE if self.size_bytes == 0 else os.O_RDWR)
        size = os.fstat(fd).st_size
        if size < self.size_bytes or (size > self.size_bytes and self._is_tail_unseen):
            self._damaged(f"it has {size} bytes instead of {self.size_bytes}")
        if self._is_tail_unseen:
            self._is_tail_unseen = False
            self._check_tail()
        return fd

    def _check_tail(self) -> None:
        """The end of the file shows whether it was changed from outside."""
        try:
            try:
                self._check_from(self._load_index())
            except DamagedError:
                self._check_from(self.rebuild_index())
        except DamagedError as damage:
            self._damaged(str(damage))

    def _check_from(self, index: SparseIndex) -> None:
        end_offset = self.base_offset
        for batch in check(self._read, index.last_position(self.size_bytes), self.size_bytes, self.base_offset):
            end_offset = batch.last_offset + 1
        if end_offset != self.next_offset:
            raise DamagedError(f"it ends at offset {end_offset} instead of {self.next_offset}")

    def take_over(
        self, size_bytes: int, next_offset: int, first_timestamp: int, max_timestamp: int, modified_ms: int
    ) -> None:
        """Be as a clean stop left it. The file is looked at when it is first needed."""
        self.size_bytes = size_bytes
        self.next_offset = next_offset
        self.first_timestamp = first_timestamp
        self.max_timestamp = max_timestamp
        self.modified_ms = modified_ms
        self._is_tail_unseen = size_bytes > 0

    def create(self) -> None:
        """Have the file there, even though nothing is in it. Raises `StorageError`."""
        if self.fd >= 0:
            return
        try:
            self._open()
        except OSError as error:
            self._log.fail("create", f"{self.path}{LOG_SUFFIX}", error)

    def _check_there(self) -> None:
        """Raise `StorageError` if the segment has left the log, or the log is offline."""
        if self.is_gone:
            raise StorageError(f"{self.path}{LOG_SUFFIX} was removed from the log")
        self._log.check_online()

    def _load_index(self) -> SparseIndex:
        self._check_there()
        try:
            relative_end = self.next_offset - self.base_offset
            index = self._index = self._files.with_room(
                lambda: SparseIndex.load(self.path, self.size_bytes, relative_end, is_trusted=True)
            )
            return self.rebuild_index() if index is None else index
        except OSError as error:
            self._log.fail("read", self.path, error)
        except DamagedError as damage:
            self._damaged(str(damage))

    def _replace_index(self) -> None:
        """Make the index anew, for it does not fit. Raises `StorageError`."""
        try:
            self.rebuild_index()
        except DamagedError as damage:
            self._damaged(str(damage))

    def rebuild_index(self) -> SparseIndex:
        """Make the index anew. Raises `DamagedError`, `StorageError`."""
        self._log.note_index_rebuilt(self.path)
        self._index = None
        self._index = index = make_index(self._read, self.base_offset, self.size_bytes)
        return index

    # After a crash

    def measure(self) -> None:
        """Take over a file that was complete before the crash. Raises `StorageError`, `DamagedError`, OSError."""
        self._look_at_file()
        if not self.size_bytes:
            return
        index = SparseIndex.load(self.path, self.size_bytes, 1 << 31, is_trusted=False)
        if index is not None:
            with suppress(DamagedError):
                self._hold(measure(self._read, self.base_offset, self.size_bytes, index))
                return
        self._hold(measure(self._read, self.base_offset, self.size_bytes, self.rebuild_index()))

    def recover(self, from_offset: int, end_offset: int | None, dense_from: int) -> DamagedError | None:
        """Check the batches from an offset on, and take the file over up to the first that is not right.

        For the arguments see `segment_recovery`. Returns what is wrong with the rest, which is still there; None: there
        is none. Raises `StorageError`, OSError.
        """
        self._look_at_file()
        index, base_offset, size_bytes = None, self.base_offset, self.size_bytes
        if from_offset > base_offset:
            index = SparseIndex.load(self.path, size_bytes, 1 << 31, is_trusted=False)
        contents, damage = recover(self._read, base_offset, size_bytes, index, from_offset, end_offset, dense_from)
        self._hold(contents)
        return damage

    def _look_at_file(self) -> None:
        """Have its size, so that it may be read, and its time."""
        stat = os.stat(self.path + LOG_SUFFIX)
        self.size_bytes = stat.st_size
        self.created_ms = self.modified_ms = stat.st_mtime_ns // 1_000_000

    def _hold(self, contents: Contents) -> None:
        """Be what was found in the file."""
        self._index = contents.index
        self.size_bytes = contents.size_bytes
        self.next_offset = contents.next_offset
        self.first_timestamp = contents.first_timestamp
        self.max_timestamp = contents.max_timestamp

    def truncate(self) -> int:
        """Cut off what is in the file beyond the segment; returns how many bytes that was. Raises OSError."""
        path, operations = self.path + LOG_SUFFIX, self._files.operations
        surplus = os.stat(path).st_size - self.size_bytes
        if surplus > 0:
            operations.truncate(path, self.size_bytes)
            operations.sync_file(path)  # or it might be back, behind what is appended now
        return surplus

    def _damaged(self, what: str) -> NoReturn:
        self._log.fail("use", f"{self.path}{LOG_SUFFIX}", DamagedError(f"{what}; it was changed or lost"))

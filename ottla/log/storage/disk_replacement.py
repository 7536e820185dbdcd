"""One segment taking the place of others on disk, so that a crash at any moment leaves either them or it.

    1  <base>.cleaned.log              written, and flushed by the worker as it grows; a crash forgets it
    2  <base>-<end>.swap.log           renamed so: from here on it stands for the segments from base up to end
    3  the recovery point              moves beyond it when 2 is on the device, for only what is before may have gaps
    4  the others are removed          by the worker, the first of them before the rest
    5  <base>.log                      renamed so; the next replacement waits until this is on the device

Until 5 it must not be replaced itself: the next start could not tell which of two swaps came last, and their names may
be the same. After a crash between 2 and 5 the next start looks whether the first of the others is there, which is the
first to be removed. If so, they are all there, and the swap, which may be incomplete, is removed. If not, 4 and 5 are
done again. What is beside the log is renamed before it; a transaction index is there, be it empty, if one of the others
has one, so that one under the last name is known to have arrived there. The worker goes by the directory as it was
opened before 4, for that may be another topic's by the time it comes to it. Kafka: LocalLog.replaceSegments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from ottla.log.storage.contract import find_run
from ottla.log.storage.disk_segment import LOG_SUFFIX, DiskSegment, SegmentLog, file_stem
from ottla.log.storage.producer_snapshot import TXN_INDEX_SUFFIX, encode_aborted
from ottla.log.storage.sparse_index import INDEX_SUFFIX, TIME_INDEX_SUFFIX

if TYPE_CHECKING:
    from ottla.log.storage.file_operations import FileOperations
    from ottla.log.storage.segment import AbortedTransaction, Segment
    from ottla.log.storage.shared import Disk
    from ottla.protocol.primitives import Buffer

CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
#: A segment's files; the log comes last when they are renamed, for it is the one that counts.
SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, LOG_SUFFIX)
#: After so many bytes what was written is flushed, so that there is little left to flush at the end.
_SYNC_BYTES: Final = 8 << 20


class ReplacingLog(SegmentLog, Protocol):
    """What a replacement needs of the log it is made in."""

    segments: list[DiskSegment]

    @property
    def disk(self) -> Disk:
        """What it shares with other logs."""

    @property
    def topic_id(self) -> str:
        """Of which topic it is."""

    @property
    def is_offline(self) -> bool:
        """Whether nothing may be done to it any more."""

    @property
    def flushed_offset(self) -> int:
        """Up to where it is on the device."""

    def flush_soon(self, then: Callable[[], None] = ...) -> None:
        """Have the worker flush all segments but the active one, and call `then` if it could."""

    def go_offline(self, what: str, path: str, error: Exception) -> None:
        """The log can't be relied on any more."""

    def await_name(self) -> None:
        """A replacement has got its last name: there is no other before that is on the device."""

    def note_replaced(self) -> None:
        """A segment may have got its last name, and that may be on the device."""


class DiskReplacement:
    """A segment in the making. Fills `contract.Replacement`."""

    def __init__(self, log: ReplacingLog, old: Sequence[Segment]) -> None:
        self._log = log
        self._old = cast("list[DiskSegment]", list(old))
        first = self._old[0]
        stem = f"{file_stem(first.base_offset)}{CLEANED}"
        try:
            remove_segment_files(log.disk.operations, f"{log.directory}/{stem}")
        except OSError as error:
            log.fail("replace segments in", log.directory, error)
        self._segment = DiskSegment(log, first.base_offset, first.created_ms, log.disk.files, stem)
        self._bytes_flushed = 0

    @property
    def size_bytes(self) -> int:
        return self._segment.size_bytes

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        self._log.check_online()  # the directory of a log that was deleted may be another's
        segment = self._segment
        segment.append(batch, last_offset, max_timestamp, self._old[-1].modified_ms)
        if segment.size_bytes - self._bytes_flushed >= _SYNC_BYTES:
            self._bytes_flushed = segment.size_bytes
            path = segment.path + LOG_SUFFIX
            self._log.disk.worker.do(
                lambda: self._log.disk.operations.sync_file(path), lambda _error: None
            )  # the last flush tells

    def commit(self, aborted: Iterable[AbortedTransaction] = ()) -> Segment:
        log, segment = self._log, self._segment
        first = find_run(log.segments, self._old)
        end = log.segments[first + len(self._old)].base_offset
        swap = f"{file_stem(segment.base_offset)}-{file_stem(end)}{SWAP}"
        segment.aborted = list(aborted)
        segment.modified_ms = self._old[-1].modified_ms
        segment.create()
        segment.finish()
        segment.let_go()
        try:
            if segment.aborted or any(old.aborted_saved for old in self._old):
                log.disk.operations.write_file(
                    segment.path + TXN_INDEX_SUFFIX, encode_aborted(segment.aborted), sync=False
                )
                segment.aborted_saved = len(segment.aborted)
            rename_segment_files(log.disk.operations, segment.path, f"{log.directory}/{swap}")
            log.note_name_changed()
        except OSError as error:
            log.fail("replace segments in", log.directory, error)
        if self._old[-1].next_offset > log.flushed_offset:
            log.flush_soon()  # until the first of them is removed they count, not the swap
        segment.stem = swap
        log.segments[first : first + len(self._old)] = [segment]
        for old in self._old:
            old.leave()
        log.flush_soon(lambda: log.disk.note_flushed(log, self._finish_later))
        return segment

    def _finish_later(self, error: Exception | None) -> None:
        """It is on the device, and the recovery point beyond it, if there is no error: remove the others."""
        log, operations, old_stems = self._log, self._log.disk.operations, [old.stem for old in self._old]
        if error is not None:
            log.go_offline("replace segments in", log.directory, error)
        if log.is_offline:
            return
        try:
            directory = log.disk.files.with_room(lambda: operations.open_directory(log.directory))
        except OSError as refused:
            log.go_offline("replace segments in", log.directory, refused)
            return

        def remove_old() -> None:
            try:
                for stem in old_stems:
                    remove_segment_files(operations, stem, directory)
                    if stem == old_stems[0]:
                        operations.fsync(directory)  # by this the next start knows that they may be gone
                operations.fsync(directory)  # or they might be back beside the last name
            finally:
                os.close(directory)

        log.disk.worker.do(remove_old, self._take_last_name)

    def _take_last_name(self, error: Exception | None) -> None:
        """The others are gone, if there is no error."""
        log, segment = self._log, self._segment
        if error is None and any(segment is kept for kept in log.segments):
            segment.let_go()
            stem = file_stem(segment.base_offset)
            try:
                rename_segment_files(log.disk.operations, segment.path, f"{log.directory}/{stem}")
            except OSError as refused:
                error = refused
            else:
                segment.stem = stem
                log.await_name()
        if error is not None:
            log.go_offline("replace segments in", log.directory, error)
        log.note_replaced()

    def abandon(self) -> None:
        self._segment.abandon_index()
        self._segment.let_go()
        if self._log.is_offline:  # deleted, and so is it; or failed, and the next start removes it
            return
        with suppress(OSError):  # the next start after a crash removes it
            remove_segment_files(self._log.disk.operations, self._segment.path)


def remove_segment_files(operations: FileOperations, path: str, directory: int | None = None) -> None:
    """Remove what there is of a segment; `path` is without a suffix, and seen from `directory` if that is given. Raises
    OSError."""
    for suffix in reversed(SUFFIXES):
        with suppress(FileNotFoundError):
            operations.unlink(path + suffix, dir_fd=directory)


def rename_segment_files(operations: FileOperations, path: str, new_path: str) -> None:
    """Give what there is of a segment another name. Raises OSError."""
    for suffix in SUFFIXES:
        try:
            operations.rename(path + suffix, new_path + suffix)
        except FileNotFoundError:
            if suffix == LOG_SUFFIX:
                raise

"""One segment taking the place of others on disk, so that a crash at any moment leaves either them or it.

    1  <base>.cleaned.log              written, and flushed by the worker as it grows; a crash forgets it
    2  <base>-<end>.swap.log           renamed so: from here on it stands for the segments from base up to end
    3  the others are removed          by the worker, when 2 is on the device
    4  <base>.log                      renamed so

Until 4 it must not be replaced itself: the next start could not tell which of two swaps came last, and their names may
be the same. After a crash between 2 and 4 the next start looks whether the first of the others is there, which is the
first to be removed. If so, they are all there, and nobody knows how much of the swap is: it goes. If not, 3 and 4 are
done again. The worker goes by the directory as it was opened at 2, for that may be another topic's by the time it comes
to 3. Kafka: LocalLog.replaceSegments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from ottla.broker.storage.contract import find_run
from ottla.broker.storage.disk_segment import LOG_SUFFIX, DiskSegment, file_stem
from ottla.broker.storage.files import open_directory, sync_file, write_file
from ottla.broker.storage.producer_snapshot import TXN_INDEX_SUFFIX, encode_aborted
from ottla.broker.storage.sparse_index import INDEX_SUFFIX, TIME_INDEX_SUFFIX

if TYPE_CHECKING:
    from ottla.broker.storage.disk import DiskStorage
    from ottla.broker.storage.segment import AbortedTransaction, Segment
    from ottla.protocol.varint import Buffer

CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
#: A segment's files; the log comes last when they are renamed, for it is the one that counts.
SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, LOG_SUFFIX)
#: After so many bytes what was written is flushed, so that there is little left to flush at the end.
_SYNC_BYTES: Final = 8 << 20


class DiskReplacement:
    """A segment in the making. Fills `contract.Replacement`."""

    def __init__(self, log: DiskStorage, old: Sequence[Segment]) -> None:
        self._log = log
        self._old = cast("list[DiskSegment]", list(old))
        first = self._old[0]
        stem = f"{file_stem(first.base_offset)}{CLEANED}"
        try:
            remove_segment_files(f"{log.directory}/{stem}")
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
            self._log.disk.worker.do(lambda: sync_file(path), lambda _error: None)  # the last flush tells

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
            if segment.aborted:
                write_file(segment.path + TXN_INDEX_SUFFIX, encode_aborted(segment.aborted), sync=False)
                segment.aborted_saved = len(segment.aborted)
            rename_segment_files(segment.path, f"{log.directory}/{swap}")
        except OSError as error:
            log.fail("replace segments in", log.directory, error)
        segment.stem = swap
        log.segments[first : first + len(self._old)] = [segment]
        for old in self._old:
            old.leave()
        self._finish_later()
        return segment

    def _finish_later(self) -> None:
        log, segment = self._log, self._segment
        swap_path, swap_stem, old_stems = segment.path, segment.stem, [old.stem for old in self._old]
        try:
            directory = log.disk.files.with_room(lambda: open_directory(log.directory))
        except OSError as error:
            log.go_offline("replace segments in", log.directory, error)
            return

        def remove_old() -> None:
            try:
                sync_file(swap_stem + LOG_SUFFIX, directory)
                os.fsync(directory)
                for stem in old_stems:
                    remove_segment_files(stem, directory)
            finally:
                os.close(directory)

        def then(error: Exception | None) -> None:
            if error is not None:
                log.go_offline("replace segments in", log.directory, error)
            elif any(segment is kept for kept in log.segments):
                segment.let_go()
                try:
                    rename_segment_files(swap_path, f"{log.directory}/{file_stem(segment.base_offset)}")
                except OSError as refused:
                    log.go_offline("replace segments in", log.directory, refused)
                    return
                segment.stem = file_stem(segment.base_offset)

        log.disk.worker.do(remove_old, then)

    def abandon(self) -> None:
        self._segment.abandon_index()
        self._segment.let_go()
        if self._log.is_offline:  # deleted, and so is it; or failed, and the next start removes it
            return
        with suppress(OSError):  # the next start after a crash removes it
            remove_segment_files(self._segment.path)


def remove_segment_files(path: str, directory: int | None = None) -> None:
    """Remove what there is of a segment; `path` is without a suffix, and seen from `directory` if that is given. Raises
    OSError."""
    for suffix in reversed(SUFFIXES):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix, dir_fd=directory)


def rename_segment_files(path: str, new_path: str) -> None:
    """Give what there is of a segment another name. Raises OSError."""
    for suffix in SUFFIXES:
        try:
            os.rename(path + suffix, new_path + suffix)
        except FileNotFoundError:
            if suffix == LOG_SUFFIX:
                raise

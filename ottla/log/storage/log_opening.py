"""Opening a log that is on disk: as a clean stop described it, or by looking at its files after a crash.

After a clean stop nothing of a log is read. What a partition needs of it stands in the mark that the stop left (see
`data_dir`), and whether the files still are what they were shows when they are first opened.

After a crash every file is looked at, and what is beyond the recovery point is read and checked, batch by batch. The
log ends before the first batch that is not right: that is where the crash was, and what follows was not acknowledged,
or not flushed on a machine that went down. It is cut off, and the log says so. If it is not right *before* the recovery
point, something was lost that had been flushed; nothing is cut then, and the log stays offline.
Kafka: LogLoader, LogSegment.recover.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ottla.events.kind import Kind
from ottla.log.storage import checkpoints
from ottla.log.storage.batch_scan import DamagedError
from ottla.log.storage.contract import EpochStart, LogState, StorageError
from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.disk_replacement import (
    CLEANED,
    SUFFIXES,
    SWAP,
    remove_segment_files,
    rename_segment_files,
)
from ottla.log.storage.disk_segment import LOG_SUFFIX, DiskSegment, file_stem
from ottla.log.storage.file_operations import TEMPORARY_SUFFIX, FileOperations
from ottla.log.storage.files import read_file
from ottla.log.storage.producer_snapshot import SNAPSHOT_SUFFIX, TXN_INDEX_SUFFIX, decode_aborted, decode_producers
from ottla.log.storage.removal import DELETED_SUFFIX
from ottla.log.storage.segment import AbortedTransaction
from ottla.log.storage.shared import Disk

if TYPE_CHECKING:
    from ottla.log.producer_entry import ProducerEntry

_LOG_NAME: Final = re.compile(r"(\d{20})\.log")
_DELETED_NAME: Final = re.compile(rf"(\d{{20}})\.log{re.escape(DELETED_SUFFIX)}")
_SWAP_NAME: Final = re.compile(rf"(\d{{20}})-(\d{{20}}){re.escape(SWAP)}\.log")
_SNAPSHOT_NAME: Final = re.compile(rf"(\d{{20}}){re.escape(SNAPSHOT_SUFFIX)}")
_NO_SNAPSHOT: Final = -1
_OFFSET_MAX: Final = 2**63 - 1


# After a clean stop


def describe_log(log: DiskStorage) -> dict[str, Any]:
    """What `open_clean` needs, for JSON."""
    state = log.load_state()
    return {
        "segments": [
            [
                segment.base_offset,
                segment.size_bytes,
                segment.next_offset,
                segment.first_timestamp,
                segment.max_timestamp,
                segment.created_ms,
                segment.modified_ms,
                [list(transaction) for transaction in segment.aborted],
            ]
            for segment in log.segments
        ],
        "log_start_offset": state.log_start_offset if state else 0,
        "leader_epochs": [list(entry) for entry in state.leader_epochs] if state else [],
        "snapshot_offset": log.snapshot_offset,
        "is_made": log.is_made,
    }


def open_clean(disk: Disk, directory: str, topic_id: str, mark: Mapping[str, Any]) -> DiskStorage:
    """The log as `describe_log` described it."""
    log = DiskStorage(disk, directory, topic_id, 0)
    log.segments = []
    for base_offset, size, next_offset, first_timestamp, max_timestamp, created_ms, modified_ms, aborted in mark[
        "segments"
    ]:
        segment = DiskSegment(log, base_offset, created_ms, disk.files)
        segment.take_over(size, next_offset, first_timestamp, max_timestamp, modified_ms)
        segment.aborted = [AbortedTransaction(*transaction) for transaction in aborted]
        segment.aborted_saved = len(segment.aborted)
        log.segments.append(segment)
    state = LogState(mark["log_start_offset"], tuple(EpochStart(*entry) for entry in mark["leader_epochs"]))
    snapshot_offset: int = mark["snapshot_offset"]
    producers = _read_snapshot(directory, snapshot_offset) if snapshot_offset >= 0 else ()
    log.restore(state, _NO_SNAPSHOT if producers is None else snapshot_offset, producers or ())
    log.is_made = mark["is_made"]
    log.was_flushed()
    return log


# After a crash


def open_after_crash(
    disk: Disk, directory: str, topic_id: str, recovery_offset: int | None, wall_ms: int
) -> DiskStorage:
    """The log as its files tell it. A log that can't be read is offline. `recovery_offset`: None if it is unknown."""
    log = DiskStorage(disk, directory, topic_id, wall_ms)
    try:
        if not os.path.isdir(directory):
            raise DamagedError(f"it is gone, and had records up to offset {recovery_offset}")
        names = _tidy(disk.operations, directory, os.listdir(directory))
        _recover_segments(
            log, sorted(int(found[1]) for found in map(_LOG_NAME.fullmatch, names) if found), recovery_offset
        )
        is_complete = _load_aborted(log, names)
        _load_beside(log, names, may_use_snapshot=is_complete)
    except DamagedError as damage:
        log.go_offline("use", directory, damage)
    except OSError as error:
        log.go_offline("read", directory, error)
    except StorageError:
        pass  # is offline, and has said so
    log.is_made = True
    # One that is offline is to be found as damaged by the next start, too.
    log.flushed_offset = (recovery_offset or 0) if log.is_offline else min(recovery_offset or 0, log.end_offset)
    if recovery_offset is None:
        _flush(log)
    return log


def _flush(log: DiskStorage) -> None:
    """Where compacted segments may be is beyond the recovery point: let there be one again that is beyond them."""
    with suppress(StorageError):  # it is offline, and has said so
        log.flush()


def _tidy(operations: FileOperations, directory: str, names: Sequence[str]) -> list[str]:
    """Finish what a crash left half done; returns the names there are then."""
    gone = max((int(found[1]) for found in map(_DELETED_NAME.fullmatch, names) if found), default=-1)
    for name in names:
        if (found := _LOG_NAME.fullmatch(name)) and int(found[1]) < gone:
            remove_segment_files(operations, f"{directory}/{name.removesuffix(LOG_SUFFIX)}")
    if gone >= 0:
        operations.sync_directory(directory)  # or older ones might be back, and nothing tells that they are gone
    for name in names:
        if name.endswith((DELETED_SUFFIX, TEMPORARY_SUFFIX)) or CLEANED in name:
            operations.unlink(f"{directory}/{name}")
    for found in filter(None, map(_SWAP_NAME.fullmatch, names)):
        _finish_swap(operations, directory, names, found[0].removesuffix(LOG_SUFFIX), int(found[1]), int(found[2]))
    names = os.listdir(directory)
    for name in names:
        stem, suffix = os.path.splitext(name)
        if suffix in SUFFIXES and stem + LOG_SUFFIX not in names:
            operations.unlink(f"{directory}/{name}")  # or it would be taken for that of a segment to come
    return os.listdir(directory)


def _finish_swap(
    operations: FileOperations,
    directory: str,
    names: Sequence[str],
    stem: str,
    base_offset: int,
    end_offset: int,
) -> None:
    """A segment was about to take the place of others."""
    path, base = f"{directory}/{stem}", file_stem(base_offset)
    if base + LOG_SUFFIX in names:
        remove_segment_files(operations, path)  # it may not have been flushed; the others are all there
        return
    for name in names:
        if (found := _LOG_NAME.fullmatch(name)) and base_offset <= int(found[1]) < end_offset:
            remove_segment_files(operations, f"{directory}/{name.removesuffix(LOG_SUFFIX)}")
    operations.sync_directory(directory)  # or they might be back beside the last name
    rename_segment_files(operations, path, f"{directory}/{base}")
    operations.sync_directory(directory)


def _recover_segments(log: DiskStorage, base_offsets: Sequence[int], recovery_point: int | None) -> None:
    """Take the segments over, as far as they are right.

    Only before the recovery point are there segments that were compacted; beyond it a gap means that something is lost.
    """
    recovery_offset = recovery_point or 0
    if not base_offsets:
        if recovery_offset > 0:
            raise DamagedError(f"its files are gone, which had records up to offset {recovery_offset}")
        return
    log.is_made = True
    log.segments = [DiskSegment(log, base_offset, 0, log.disk.files) for base_offset in base_offsets]
    for number, segment in enumerate(log.segments):
        next_base = base_offsets[number + 1] if number + 1 < len(base_offsets) else None
        if next_base is not None and next_base <= recovery_offset:
            segment.measure()
            continue
        dense_from = -1 if next_base is None else _OFFSET_MAX if recovery_point is None else recovery_point
        damage = segment.recover(recovery_offset, next_base, dense_from)
        if damage is None and next_base is not None and segment.next_offset < next_base and recovery_point is not None:
            damage = DamagedError(f"it ends at offset {segment.next_offset}, and the next begins at {next_base}")
        if damage is not None:
            if segment.next_offset < recovery_offset:
                raise DamagedError(f"{damage}; it was whole up to offset {recovery_offset}")
            _cut(log, number, damage)
            return
    if log.end_offset < recovery_offset:
        raise DamagedError(f"it ends at offset {log.end_offset}; it was whole up to offset {recovery_offset}")


def _cut(log: DiskStorage, last: int, damage: DamagedError) -> None:
    """End the log with the segment number `last`, where that is now."""
    lost = log.segments[last + 1 :]
    bytes_cut = log.segments[last].truncate()
    del log.segments[last + 1 :]
    for segment in lost:
        bytes_cut += os.stat(segment.path + LOG_SUFFIX).st_size
        segment.abandon_index()
        segment.let_go()
        remove_segment_files(log.disk.operations, segment.path)
    log.disk.operations.sync_directory(log.directory)  # or they might be back, behind what is appended now
    log.disk.events.tell(
        Kind.LOG_CUT, directory=log.directory, end_offset=log.end_offset, bytes_cut=bytes_cut, reason=str(damage)
    )


def _load_aborted(log: DiskStorage, names: Sequence[str]) -> bool:
    """Read the indexes of aborted transactions; returns whether they are all readable."""
    is_complete = True
    for segment in log.segments:
        if segment.stem + TXN_INDEX_SUFFIX in names:
            aborted = decode_aborted(read_file(segment.path + TXN_INDEX_SUFFIX) or b"")
            if aborted is None:
                is_complete = False
                continue
            segment.aborted = [transaction for transaction in aborted if transaction.last_offset < segment.next_offset]
            segment.aborted_saved = len(aborted)
    return is_complete


def _load_beside(log: DiskStorage, names: Sequence[str], *, may_use_snapshot: bool) -> None:
    """Read the epochs, the log's start and the producers."""
    epochs = start_offset = None
    if checkpoints.LEADER_EPOCHS in names:
        epochs = checkpoints.decode_epochs(read_file(f"{log.directory}/{checkpoints.LEADER_EPOCHS}"))
        if epochs is None:
            may_use_snapshot = False  # the batches know the epochs, all of them
            _note_damaged(log, checkpoints.LEADER_EPOCHS)
    if checkpoints.LOG_START in names:
        start_offset = checkpoints.decode_number(read_file(f"{log.directory}/{checkpoints.LOG_START}"))
        if start_offset is None:
            _note_damaged(log, checkpoints.LOG_START)
    state = None if epochs is None and start_offset is None else LogState(start_offset or 0, epochs or ())
    offsets = sorted((int(found[1]) for found in map(_SNAPSHOT_NAME.fullmatch, names) if found), reverse=True)
    snapshot_offset, producers = _NO_SNAPSHOT, None
    for offset in offsets:
        if producers is None and may_use_snapshot and log.segments[0].base_offset <= offset <= log.end_offset:
            producers = _read_snapshot(log.directory, offset)
            if producers is not None:
                snapshot_offset = offset
                continue
            _note_damaged(log, f"{file_stem(offset)}{SNAPSHOT_SUFFIX}")
        log.disk.operations.unlink(f"{log.directory}/{file_stem(offset)}{SNAPSHOT_SUFFIX}")
        if offset > log.end_offset:  # or it might be back, and be taken for one of what is appended now
            log.disk.operations.sync_directory(log.directory)
    log.restore(state, snapshot_offset, producers or ())


def _read_snapshot(directory: str, offset: int) -> list[ProducerEntry] | None:
    data = read_file(f"{directory}/{file_stem(offset)}{SNAPSHOT_SUFFIX}")
    return None if data is None else decode_producers(data)


def _note_damaged(log: DiskStorage, name: str) -> None:
    """A file beside the log makes no sense; what was in it is found in the log, or is not."""
    log.disk.events.tell(Kind.METADATA_DAMAGED, path=f"{log.directory}/{name}")

"""A partition's batches in the files of a directory of its own. Fills `contract.LogStorage`.

    orders-3/
        00000000000000000000.log       closed segment    .index .timeindex .txnindex
        00000000000000082412.log       active segment
        00000000000000082412.snapshot  the producers as they were when it was begun
        partition.metadata             the topic's id
        leader-epoch-checkpoint        the epochs and where they began
        log-start-offset               where the log begins, if that is not where its first segment does

The directory is made with the first batch, so a topic without records costs only a line in the file of the
cluster. Files called `.deleted` are about to be removed, and `.swap.log` about to be put in place: `DiskReplacement`.

Everything up to `flushed_offset` is on the device; a recovery after a crash looks only at what is beyond it. It moves
when a segment is complete, which is flushed by the worker, when `flush` is called, and when the log is closed.

A failure to write or flush batches takes the log offline until the broker is restarted, because it is unknown then what
is on disk; so does a file that does not hold what it did. Kafka: LocalLog, and
LogDirFailureChannel, which takes all logs of the directory offline.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from ottla.events.kind import Kind
from ottla.log.storage import checkpoints
from ottla.log.storage.contract import LogState, StorageError
from ottla.log.storage.disk_replacement import DiskReplacement
from ottla.log.storage.disk_segment import LOG_SUFFIX, DiskSegment
from ottla.log.storage.files import describe, is_short_of_descriptors, read_file
from ottla.log.storage.producer_snapshot import TXN_INDEX_SUFFIX
from ottla.log.storage.removal import DELETED_SUFFIX, delete_directory, remove_segments
from ottla.log.storage.small_files import SmallFiles

if TYPE_CHECKING:
    from ottla.log.producer_entry import ProducerEntry
    from ottla.log.storage.segment import Segment
    from ottla.log.storage.shared import Disk
    from ottla.protocol.primitives import Buffer


def _nothing() -> None:
    """For calls without a continuation."""


class DiskStorage:
    """The batches of one partition, in `directory`."""

    __slots__ = (
        "_is_known",
        "_names_awaited",
        "_names_changed",
        "_names_synced",
        "_producers",
        "_small_files",
        "_state",
        "_when_replaced",
        "directory",
        "disk",
        "flushed_offset",
        "is_made",
        "is_offline",
        "note_leader_epoch",
        "segments",
        "topic_id",
    )

    def __init__(self, disk: Disk, directory: str, topic_id: str, wall_ms: int) -> None:
        """A new log, of which nothing is on disk. `log_opening` makes those that are there."""
        self.disk = disk
        self.directory = directory
        self.topic_id = topic_id
        self.segments: list[DiskSegment] = [DiskSegment(self, 0, wall_ms, disk.files)]
        self.is_offline = False
        #: Whether the directory is there.
        self.is_made = False
        #: Told the leader epoch of a log that has no directory to keep it in.
        self.note_leader_epoch: Callable[[int], None] = _ignore
        self.flushed_offset = 0
        #: How often names in the directory changed, and how much of that is on the device.
        self._names_changed, self._names_synced = 1, 0
        #: How much of that has to be before segments are replaced again.
        self._names_awaited = 0
        #: Whether it is on the device that there is such a log.
        self._is_known = False
        self._small_files = SmallFiles(disk, directory)
        self._producers: Sequence[ProducerEntry] = ()
        self._when_replaced: list[Callable[[], None]] = []
        self._state: LogState | None = None

    @property
    def end_offset(self) -> int:
        return self.segments[-1].next_offset

    @property
    def is_replacing(self) -> bool:
        return self._names_synced < self._names_awaited or any(segment.is_swapped_in for segment in self.segments)

    def when_replaced(self, then: Callable[[], None]) -> None:
        """Call `then` when what is being replaced is in place for good; never, if the log goes offline before."""
        self._when_replaced.append(then)
        self.note_replaced()

    def note_replaced(self) -> None:
        """A segment may have got its last name, and that may be on the device."""
        if self.is_offline:
            self._when_replaced.clear()
        elif not self.is_replacing:
            waiting, self._when_replaced = self._when_replaced, []
            for then in waiting:
                then()

    # Batches

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int, wall_ms: int, head: bytes = b"") -> None:
        self.check_online()
        placed = b"".join((head, memoryview(batch)[len(head) :])) if head else batch
        self.segments[-1].append(placed, last_offset, max_timestamp, wall_ms)

    def roll(self, base_offset: int, wall_ms: int) -> None:
        closed = self.segments[-1]
        assert base_offset > closed.base_offset
        segment = DiskSegment(self, base_offset, wall_ms, self.disk.files)
        self.segments.append(segment)
        if self.is_offline:
            return
        with suppress(StorageError):  # which has taken the log offline, and lets the next append fail
            segment.create()
        with suppress(StorageError):  # the same, if what is in it turns out to be no batches; an index is made anew
            closed.finish()
        self.flush_soon()

    def remove_oldest(self, count: int) -> None:
        assert 0 <= count < len(self.segments)
        gone, self.segments = self.segments[:count], self.segments[count:]
        self.remove_files(gone)

    def remove_files(self, gone: Sequence[DiskSegment]) -> None:
        """Let the files of segments go, at once for every reader, and from the disk when the worker comes to it.

        It goes by the directory as it is now, for by then that name may be another topic's.
        """
        if not self.is_made:
            return
        stems = []
        try:
            self._sync_names()  # or a crash might leave neither these nor the segment that was begun after them
        except OSError as error:
            self.go_offline("flush", self.directory, error)
        for segment in gone:
            segment.leave()
            try:
                self.disk.operations.rename(segment.path + LOG_SUFFIX, segment.path + LOG_SUFFIX + DELETED_SUFFIX)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.go_offline("remove", segment.path + LOG_SUFFIX, error)
                continue
            stems.append(segment.stem)
        if not stems:
            return
        self.note_name_changed()
        operations = self.disk.operations
        with suppress(OSError):  # the next start after a crash removes them
            directory = self.disk.files.with_room(lambda: operations.open_directory(self.directory))
            self.disk.worker.do(lambda: remove_segments(operations, directory, stems), lambda _error: None)

    def replace(self, segments: Sequence[Segment]) -> DiskReplacement:
        self.check_online()
        self.segments[-1].create()  # or, after a crash, the last file of the log might be one that was compacted
        return DiskReplacement(self, segments)

    # What is beside them

    def save_state(self, state: LogState) -> None:
        self._state = state
        if self.is_offline:
            return
        if self.is_made:
            self._write_state(state)
        elif state.leader_epochs and state.leader_epochs[-1].epoch > 0:
            self.note_leader_epoch(state.leader_epochs[-1].epoch)

    def _write_state(self, state: LogState) -> None:
        try:
            self._small_files.write_state(state)
        except OSError as error:
            self.go_offline("write", self.directory, error)

    def load_state(self) -> LogState | None:
        return self._state

    def restore(self, state: LogState | None, snapshot_offset: int, producers: Sequence[ProducerEntry]) -> None:
        """Take over what was found beside the batches; for `log_opening`."""
        self._state = state
        if state is not None:
            self._small_files.state_saved = state
        self._small_files.snapshot_offset, self._producers = snapshot_offset, producers

    @property
    def snapshot_offset(self) -> int:
        """Of the snapshot of producers there is; `NO_SNAPSHOT`: there is none."""
        return self._small_files.snapshot_offset

    def save_producers(self, offset: int, producers: Iterable[ProducerEntry]) -> None:
        if self.is_offline or not self.is_made or offset == self.snapshot_offset:
            return
        try:
            for segment in self.segments:
                if segment.aborted_saved != len(segment.aborted):
                    self._small_files.write_aborted(segment.stem, segment.aborted)
                    segment.aborted_saved = len(segment.aborted)
            self._small_files.write_producers(offset, producers)
        except OSError as error:
            self.go_offline("write", self.directory, error)

    def load_producers(self) -> tuple[int, Sequence[ProducerEntry]] | None:
        return (self.snapshot_offset, self._producers) if self.snapshot_offset >= 0 else None

    # Flushing and closing

    def flush(self) -> None:
        try:
            self.disk.files.with_room(self.sync)
        except OSError as error:
            # Be it for want of a descriptor: a batch that was to be flushed is in the log, and its producer is refused.
            self.go_offline("flush", self.directory, error)
            raise StorageError(_reason("flush", self.directory, error)) from error

    def sync(self) -> None:
        """Flush, and touch no other log: several threads may do so for a log each. Raises OSError."""
        if self.is_offline or not self.is_unflushed:
            return
        end_offset = self.end_offset
        for segment in self.segments:
            if segment.next_offset > self.flushed_offset and segment.size_bytes:
                if segment.fd >= 0:
                    self.disk.operations.fdatasync(segment.fd)
                else:
                    self.disk.operations.sync_file(segment.path + LOG_SUFFIX)
        self._sync_names()
        self.flushed_offset = end_offset

    def flush_soon(self, then: Callable[[], None] = _nothing) -> None:
        """Have the worker flush all segments but the active one, and call `then` if it could."""
        end_offset, names = self.segments[-1].base_offset, self._names_changed
        paths = []
        for segment in self.segments[:-1]:
            if segment.is_swapped_in:
                paths += [segment.path + LOG_SUFFIX, segment.path + TXN_INDEX_SUFFIX]
            elif segment.next_offset > self.flushed_offset:
                paths.append(segment.path + LOG_SUFFIX)

        def sync() -> None:
            for path in paths:
                self.disk.operations.sync_file(path)
            self._sync_names_now()

        def synced(error: Exception | None) -> None:
            if error is not None and is_short_of_descriptors(error) and then is _nothing:
                return  # the next flush makes up for it
            if error is not None:
                self.go_offline("flush", self.directory, error)
            elif not self.is_offline:
                self._names_synced = max(self._names_synced, names)
                self._is_known = True
                self.flushed_offset = max(self.flushed_offset, min(end_offset, self.end_offset))
                then()
                self.note_replaced()

        self.disk.worker.do(sync, synced)

    @property
    def is_unflushed(self) -> bool:
        """Whether `sync` would have something to do."""
        return self.is_made and (
            self.flushed_offset < self.end_offset or self._names_synced < self._names_changed or not self._is_known
        )

    def note_name_changed(self) -> None:
        """A file of the log was made, renamed or removed."""
        self._names_changed += 1

    def await_name(self) -> None:
        """A replacement has got its last name: there is no other before that is on the device."""
        self.note_name_changed()
        self._names_awaited = self._names_changed
        self.flush_soon()

    def _sync_names(self) -> None:
        """Have on the device what files there are, and that there is such a log. Raises OSError."""
        if self._names_synced < self._names_changed or not self._is_known:
            self._sync_names_now()
            self._names_synced, self._is_known = self._names_changed, True

    def _sync_names_now(self) -> None:
        operations = self.disk.operations
        if not self._is_known:
            operations.sync_file(f"{self.directory}/{checkpoints.PARTITION_METADATA}")
            self.disk.sync_cluster()
        operations.sync_directory(self.directory)

    def was_flushed(self) -> None:
        """All of it is on the device, as it is."""
        self.flushed_offset = self.end_offset
        if self.is_made:
            self._names_synced, self._is_known = self._names_changed, True

    def close(self) -> None:
        for segment in self.segments:
            segment.let_go()

    def delete(self) -> None:
        for segment in self.segments:
            segment.leave()
        self.segments = [DiskSegment(self, self.end_offset, 0, self.disk.files)]
        self.is_offline = True
        if self.is_made:
            delete_directory(self.directory, self.disk)

    # When the system refuses

    def ensure_directory(self) -> None:
        """Have the directory there. Raises OSError."""
        if self.is_made:
            return
        self.disk.files.with_room(self._make_directory)

    def _make_directory(self) -> None:
        """Make it, or take one that a failure has left without a log; not that of a topic whose removal has failed."""
        self.disk.operations.make_directory(self.directory)
        path = f"{self.directory}/{checkpoints.PARTITION_METADATA}"
        if checkpoints.decode_partition_metadata(read_file(path)) not in (None, self.topic_id):
            raise FileExistsError(errno.EEXIST, "the log of a deleted topic is there still: start again", path)
        self.disk.operations.write_file(path, checkpoints.encode_partition_metadata(self.topic_id), sync=False)
        self.is_made = True
        if self._state is not None:
            self._write_state(self._state)

    def fail(self, what: str, path: str, error: Exception) -> NoReturn:
        """Raise `StorageError`; unless there were only no descriptors, the log can't be relied on any more."""
        if not is_short_of_descriptors(error):
            self.go_offline(what, path, error)
        raise StorageError(_reason(what, path, error)) from error

    def go_offline(self, what: str, path: str, error: Exception) -> None:
        """The log can't be relied on any more."""
        if not self.is_offline:
            self.is_offline = True
            self.disk.events.tell(Kind.LOG_OFFLINE, directory=self.directory, reason=_reason(what, path, error))
            for segment in self.segments:
                segment.let_go()

    def note_index_rebuilt(self, path: str) -> None:
        self.disk.events.tell(Kind.INDEX_REBUILT, path=path)

    def check_online(self) -> None:
        """Raise `StorageError` if it is offline."""
        if self.is_offline:
            raise StorageError(f"the log in {self.directory} went offline; the broker's log says why")


def _ignore(_leader_epoch: int) -> None:
    """For logs without a directory and without a cluster file."""


def _reason(what: str, path: str, error: Exception) -> str:
    return f"cannot {what} {path}: {describe(error) if isinstance(error, OSError) else error}"

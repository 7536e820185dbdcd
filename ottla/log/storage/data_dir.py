"""The data directory: the cluster it belongs to, its files, and how it was left.

    DIR/
        .lock                                locked by the process that uses it, whose id is in it
        meta.properties                      cluster.id, directory.id, and the version of this format
        cluster.journal                      topics, configs, settings: see `cluster_file`
        clean-shutdown.json                  the mark of a clean stop, with all that a start needs of each log
        virtual-date                         the date that a virtual clock has reached, if there was one
        recovery-point-offset-checkpoint     up to where each log is on the device
        cleaner-offset-checkpoint            up to where each was compacted; losing it costs work and nothing else
        orders-0/ …                          the logs: see `disk`
        orders-1.<random>-delete/            a log that is being deleted
        payments-0.<random>-stray/           a log of no topic in that file; it is left alone

The mark is taken away when the directory is opened, and put there when all logs are flushed and closed, so what is in
it is true as long as it is there. Without it each log is recovered.

A directory that can't be used is refused in a sentence that says what to do: `DataDirRefused`.
Kafka: LogManager, CleanShutdownFileHandler, meta.properties.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ottla.events.kind import Kind
from ottla.events.stream import Stream
from ottla.log.storage import checkpoints
from ottla.log.storage.cluster_file import CLUSTER_FILE, ClusterFile
from ottla.log.storage.directory_lock import LOCK, DirectoryLock
from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.file_operations import TEMPORARY_SUFFIX, FileOperations
from ottla.log.storage.files import OpenFiles, describe, is_short_of_descriptors, read_file
from ottla.log.storage.log_opening import describe_log, open_after_crash, open_clean
from ottla.log.storage.removal import DELETE_SUFFIX, delete_directory, remove_directory, with_ending
from ottla.log.storage.shared import Disk, FlushedLog
from ottla.log.storage.worker import DiskWorker, Then

FORMAT: Final = 1
META: Final = "meta.properties"
CLEAN_MARK: Final = "clean-shutdown.json"
STRAY_SUFFIX: Final = "-stray"

_FORMAT_NAME: Final = "ottla.format"
_LOG_NAME: Final = re.compile(r".+-\d+")
_PROGRESS_SECONDS: Final = 5.0
_FLUSHING_THREADS: Final = 8
_OURS: Final = frozenset(
    (
        LOCK,
        META,
        CLUSTER_FILE,
        CLEAN_MARK,
        checkpoints.RECOVERY_POINTS,
        checkpoints.CLEANED_OFFSETS,
        checkpoints.VIRTUAL_DATE,
    )
)


class DataDirRefused(Exception):
    """The directory can't be used. The text says why and what to do."""


class DataDir:
    """An open data directory."""

    def __init__(
        self, path: Path, events: Stream, worker: DiskWorker, files_max: int, operations: FileOperations
    ) -> None:
        self.path = str(path.absolute())
        self.events = events
        self._operations = operations
        self.disk = Disk(OpenFiles(files_max, operations), worker, events)
        self.cluster_file = ClusterFile(self.path, worker, operations, events)
        self.disk.sync_cluster, self.disk.note_flushed = self._sync_cluster, self._note_flushed
        self.cluster_id = ""
        #: Whether the process before ended as it should, or there was none.
        self.was_clean = False
        self._lock = DirectoryLock(self.path, operations)
        self._mark: Mapping[str, Any] = {}
        #: Up to where logs are on the device, as the file has it, or will when the worker is done; None: unknown.
        self._recovery_points: Mapping[tuple[str, int], int] | None = None
        self._cleaned_offsets: dict[tuple[str, int], int] = {}
        self._logs: dict[str, DiskStorage] = {}
        self._names: set[str] = set()
        self._logs_known = 0
        self._told_at = float("-inf")

    def open(self, new_id: str) -> None:
        """Take the directory, and make it if it is not there, as that of the cluster `new_id`. Raises
        `DataDirRefused`."""
        try:
            if not self._operations.make_directories(self.path):
                self._operations.share_as(self.path)
            self._take_lock()
            self._read_meta(new_id)
            self._read_marks()
        except OSError as error:
            self.release()
            reason = "it is no directory" if isinstance(error, FileExistsError) else describe(error)
            raise DataDirRefused(
                f"cannot use {error.filename or self.path}: {reason}; name a directory that can be written"
            ) from None
        except DataDirRefused:
            self.release()
            raise

    def _take_lock(self) -> None:
        owner = self._lock.take()
        if owner is not None:
            raise DataDirRefused(f"{self.path} is in use by process {owner}; stop that one, or name another directory")

    def _read_meta(self, new_id: str) -> None:
        self._names = set(os.listdir(self.path))
        data = read_file(f"{self.path}/{META}")
        if data is None:
            foreign = sorted(self._names - {LOCK, META + TEMPORARY_SUFFIX})
            if foreign:
                raise DataDirRefused(
                    f"{self.path} holds {foreign[0]} and no {META}, so it is not a data directory; name another or an "
                    "empty one"
                )
            lines = {"version": 1, "cluster.id": new_id, "directory.id": new_id, _FORMAT_NAME: FORMAT}
            self._operations.write_file(
                f"{self.path}/{META}", "".join(f"{name}={value}\n" for name, value in lines.items()).encode()
            )
            self.cluster_id = new_id
            self.was_clean = True
            return
        meta = dict(line.split("=", 1) for line in data.decode("utf-8", "replace").splitlines() if "=" in line)
        text = meta.get(_FORMAT_NAME, "")
        if not text.isdecimal() or not meta.get("cluster.id"):
            raise DataDirRefused(f"{self.path}/{META} is not one of Ottla's; name another directory, or an empty one")
        if int(text) > FORMAT:
            raise DataDirRefused(
                f"{self.path} has format {text}, and this version of Ottla knows format {FORMAT}; use the newer Ottla "
                "that wrote it, or another directory"
            )
        self.cluster_id = meta["cluster.id"]

    def _read_marks(self) -> None:
        """Take the mark of a clean stop away, or else the recovery points."""
        mark_path = f"{self.path}/{CLEAN_MARK}"
        mark = _read_json(mark_path)
        if isinstance(mark, dict):
            self._mark = mark
            self.was_clean = True
        with suppress(FileNotFoundError):
            self._operations.unlink(mark_path)
            self._operations.sync_directory(self.path)  # or it might be back after the machine went down, and be wrong
        points = read_file(f"{self.path}/{checkpoints.RECOVERY_POINTS}")
        decoded = checkpoints.decode_offsets(points)
        if points is not None and decoded is None and not self.was_clean:
            self.events.tell(Kind.METADATA_DAMAGED, path=f"{self.path}/{checkpoints.RECOVERY_POINTS}")
        if points is None and not self.has_logs:
            self._save_recovery_points({})
            decoded = {}
        self._recovery_points = decoded
        cleaned = read_file(f"{self.path}/{checkpoints.CLEANED_OFFSETS}")
        self._cleaned_offsets = checkpoints.decode_offsets(cleaned) or {}

    def virtual_date(self) -> int:
        """The date, in ms, that a virtual clock has reached here; 0: none has. Raises OSError."""
        return checkpoints.decode_number(read_file(f"{self.path}/{checkpoints.VIRTUAL_DATE}")) or 0

    def save_virtual_date(self, wall_ms: int) -> None:
        """A virtual clock is about to reach this date, and no later start may be before it. Raises OSError."""
        path = f"{self.path}/{checkpoints.VIRTUAL_DATE}"
        self._operations.write_file(path, checkpoints.encode_number(wall_ms), sync=False)

    # Logs

    @property
    def has_logs(self) -> bool:
        """Whether there are any, when it is opened."""
        return any(_LOG_NAME.fullmatch(name) for name in self._names)

    def open_log(self, topic: str, topic_id: str, index: int, wall_ms: int) -> DiskStorage:
        """The log of a partition: new, or as it was left."""
        name = f"{topic}-{index}"
        directory = f"{self.path}/{name}"
        mark = self._mark.get(name)
        if mark is not None and mark["topic_id"] == topic_id:
            log = open_clean(self.disk, directory, topic_id, mark)
        elif (name in self._names and self._topic_id(name) in (None, topic_id)) or self._was_flushed(topic_id, index):
            self._tell_progress()
            points = self._recovery_points
            recovery_offset = None if points is None else points.get((topic_id, index), 0)
            log = open_after_crash(self.disk, directory, topic_id, recovery_offset, wall_ms)
        else:
            log = DiskStorage(self.disk, directory, topic_id, wall_ms)
        self._logs[name] = log
        return log

    def _was_flushed(self, topic_id: str, index: int) -> bool:
        """Whether something of that log has to be there."""
        return self._recovery_points is not None and self._recovery_points.get((topic_id, index), 0) > 0

    def _tell_progress(self) -> None:
        """Tell of a recovery, which may take long."""
        now = time.monotonic()
        if now - self._told_at >= _PROGRESS_SECONDS:
            self._told_at = now
            self.events.tell(Kind.LOGS_RECOVERING, logs=self._logs_known, logs_done=len(self._logs))

    def sort_out(self, names: set[str], deleted: Mapping[str, str]) -> None:
        """After the cluster file was read, before any log is opened: finish deletions, and set aside unknown logs.

        `names`: `<topic>-<partition>` with the topic's id behind a slash, of all there are. `deleted`: names of topics
        that are gone, by their ids.
        """
        self._logs_known = len(names)
        ids = {name.rpartition("/")[2] for name in names}
        self._cleaned_offsets = {key: offset for key, offset in self._cleaned_offsets.items() if key[0] in ids}
        doomed = [name for name in self._names if name.endswith(DELETE_SUFFIX)]
        for name in doomed:
            self._finish_deletion(name, names)
        for name in self._names - _OURS - set(doomed):
            path = f"{self.path}/{name}"
            if name.endswith(TEMPORARY_SUFFIX):
                with suppress(FileNotFoundError):  # this start has written one anew
                    self._operations.unlink(path)
            elif not name.endswith(STRAY_SUFFIX) and os.path.isdir(path):
                self._judge(name, names, deleted)

    def _finish_deletion(self, name: str, known: set[str]) -> None:
        """Remove a log, unless its topic is there: then the machine went down before it was said to be deleted."""
        topic_id = self._topic_id(name)
        ending = f"-{name.rpartition('.')[0].rpartition('-')[2]}/{topic_id}"
        former = next((one.partition("/")[0] for one in known if one.endswith(ending)), None)
        if former is None or (former in self._names and self._topic_id(former) == topic_id):
            remove_directory(f"{self.path}/{name}", self.disk)
            return
        if former in self._names:
            self._set_aside(former)  # of a topic that was made anew, and not said to be either
        self._operations.rename(f"{self.path}/{name}", f"{self.path}/{former}")
        self._names.add(former)

    def _judge(self, name: str, known: set[str], deleted: Mapping[str, str]) -> None:
        if self._mark and name in self._mark and f"{name}/{self._mark[name]['topic_id']}" in known:
            return  # saves a look at each of thousands of files
        topic_id = self._topic_id(name)
        if f"{name}/{topic_id}" in known:
            return
        may_be_known = topic_id is None and name.rpartition("-")[0] not in deleted.values()
        if may_be_known and any(one.startswith(f"{name}/") for one in known):
            return
        if topic_id in deleted:
            delete_directory(f"{self.path}/{name}", self.disk)
            self._names.discard(name)
        else:
            self._set_aside(name)

    def _set_aside(self, name: str) -> None:
        directory = f"{self.path}/{name}"
        aside = with_ending(directory, STRAY_SUFFIX)
        self._operations.rename(directory, aside)
        self.events.tell(Kind.LOG_STRAY, directory=directory, path=aside)
        self._names.discard(name)

    def _topic_id(self, name: str) -> str | None:
        """The topic id in the directory of a log."""
        return checkpoints.decode_partition_metadata(read_file(f"{self.path}/{name}/{checkpoints.PARTITION_METADATA}"))

    def forget(self, topic: str, partitions: int) -> None:
        """A topic is about to be deleted. If it is made anew, its logs are new."""
        for index in range(partitions):
            name = f"{topic}-{index}"
            log = self._logs.pop(name, None)
            self._names.discard(name)
            if log is not None:
                self._cleaned_offsets.pop((log.topic_id, index), None)

    # Checkpoints and the end

    def save_recovery_points_soon(self) -> None:
        """Have the worker note up to where each log is on the device, if that has changed."""
        points = self._flushed()
        if points != self._recovery_points:
            self._recovery_points = points
            self.disk.worker.do(lambda: self._save_recovery_points(points), self._recovery_points_saved)

    @property
    def has_new_recovery_points(self) -> bool:
        """Whether `save_recovery_points_soon` has anything to note."""
        return self._flushed() != self._recovery_points

    def _flushed(self) -> dict[tuple[str, int], int]:
        """By topic id: a topic that is deleted and made anew has nothing to do with what was flushed of the old one."""
        points = {}
        for name, log in self._logs.items():
            if log.flushed_offset > 0:
                points[log.topic_id, int(name.rpartition("-")[2])] = log.flushed_offset
        return points

    def _note_flushed(self, log: FlushedLog, then: Then) -> None:
        """Have the recovery point of a log on the device, unless it is. The worker does one thing after the other, so
        that may be before `then` is called for one that is on its way."""
        key = log.topic_id, int(log.directory.rpartition("-")[2])
        points = self._recovery_points
        if points is None or points.get(key, 0) < log.flushed_offset:
            points = self._recovery_points = self._flushed()
            self.disk.worker.do(lambda: self._save_recovery_points(points), then)
        else:
            self.disk.worker.do(lambda: None, then)

    def _sync_cluster(self) -> None:
        """Have on the device which topics there are, and which directories. Raises OSError."""
        self.cluster_file.sync()
        self._operations.sync_directory(self.path)

    def _save_recovery_points(self, points: Mapping[tuple[str, int], int]) -> None:
        path = f"{self.path}/{checkpoints.RECOVERY_POINTS}"
        self._operations.write_file(path, checkpoints.encode_offsets(points))

    def _recovery_points_saved(self, error: Exception | None) -> None:
        if error is not None:
            self.events.tell(Kind.RECOVERY_POINTS_FAILED, reason=describe(error))

    def cleaned_offset(self, topic: str, index: int) -> int:
        """How far compaction had cleaned this log, which is open; if it was cut since, as far as it is there still."""
        log = self._logs[f"{topic}-{index}"]
        offset = self._cleaned_offsets.get((log.topic_id, index), 0)
        if offset > log.end_offset:
            offset = log.end_offset
            self.save_cleaned_offset(topic, index, offset)
        return offset

    def save_cleaned_offset(self, topic: str, index: int, offset: int) -> None:
        """Have the worker note how far compaction has cleaned a log, once what it has replaced is in place.

        If that fails the log goes offline, and what it was is there again after the next start. Were it taken for
        cleaned then, a tombstone might go before the values it stands for.
        """
        log = self._logs[f"{topic}-{index}"]

        def note() -> None:
            self._cleaned_offsets[log.topic_id, index] = offset
            path, data = f"{self.path}/{checkpoints.CLEANED_OFFSETS}", checkpoints.encode_offsets(self._cleaned_offsets)
            # Without it more is cleaned anew.
            self.disk.worker.do(lambda: self._operations.write_file(path, data), lambda _error: None)

        log.when_replaced(note)

    @property
    def logs_count(self) -> int:
        return len(self._logs)

    def flush(self) -> None:
        """Have all logs on the device, several at a time. Those that can't be are offline then."""
        self.disk.worker.drain()
        unflushed = [log for log in self._logs.values() if log.is_unflushed]
        if unflushed:
            with ThreadPoolExecutor(_FLUSHING_THREADS) as threads:
                list(threads.map(_flush, unflushed))

    def close(self) -> None:
        """All logs are closed: leave the mark of a clean stop, for all that are not offline. Raises OSError."""
        try:
            self.disk.worker.drain()
            self.cluster_file.close()
            self._save_recovery_points(self._flushed())
            mark = {
                name: {"topic_id": log.topic_id, **describe_log(log)}
                for name, log in self._logs.items()
                if not log.is_offline
            }
            self._operations.write_file(f"{self.path}/{CLEAN_MARK}", json.dumps(mark, separators=(",", ":")).encode())
        finally:
            self.release()

    def release(self) -> None:
        """Unlock the directory as it is."""
        self._lock.release()


def _flush(log: DiskStorage) -> None:
    try:
        log.sync()
    except OSError as error:
        if not is_short_of_descriptors(error):  # else it is tried again when the log is closed
            log.go_offline("flush", log.directory, error)


def _read_json(path: str) -> Any:
    data = read_file(path)
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return None

"""What counts as flushed is on the device with all that it takes to be found there; told step by step.

`tests/log/storage/crash` looks for what goes wrong here; these are what it found, and what only a failing disk shows.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from ottla.log.storage.cluster_file import CLUSTER_FILE, ClusterFileDamagedError
from ottla.log.storage.contract import StorageError
from ottla.log.storage.data_dir import DataDir
from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.file_operations import FileOperations
from ottla.log.storage.files import OpenFiles
from ottla.log.storage.segment import AbortedTransaction
from ottla.log.storage.shared import Disk
from ottla.log.storage.worker import DiskWorker
from tests.conformance.log_storage import WALL_MS, append, batch, content
from tests.log.storage.disks import TOPIC_ID, InlineWorker, after_crash, logged, new_log
from tests.log.storage.test_data_dir import CLUSTER_ID, OTHER_ID, sorted_out
from tests.log.storage.test_replacing import LateWorker
from tests.support.told import Told, told

CHANGE: Final = {"topic": "t", "id": TOPIC_ID}


class Watched(FileOperations):
    """Knows what was flushed, by name, and can be told to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[str] = []
        self.failing = ""
        self.fsync = self.fdatasync = self._fsync

    def _fsync(self, fd: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        if self.failing and path.endswith(self.failing):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.flushed.append(path)


@pytest.fixture
def operations() -> Watched:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("names of open files can't be had here")
    return Watched()


def opened(path: Path, operations: Watched, worker: DiskWorker | None = None) -> DataDir:
    """A new directory, with its journal."""
    data_dir = DataDir(path, Told(), worker or InlineWorker(), 100, operations)
    data_dir.open(CLUSTER_ID)
    data_dir.cluster_file.open()
    return data_dir


def test_a_flush_waits_for_all_that_leads_to_the_log(tmp_path: Path, operations: Watched) -> None:
    """The topic in the journal, the directory in its directory, whose it is, the file in it. The next needs the file
    alone."""
    path = tmp_path / "data"
    data_dir = opened(path, operations, LateWorker())
    data_dir.cluster_file.append(CHANGE)
    log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(log, (0, 1))
    operations.flushed.clear()
    log.flush()
    expected = [f"t-0/{0:020d}.log", "t-0/partition.metadata", CLUSTER_FILE, "", "t-0"]
    assert [os.path.relpath(one, path).removeprefix(".") for one in operations.flushed] == expected
    operations.flushed.clear()
    append(log, (1, 1))
    log.flush()
    assert operations.flushed == [f"{path}/t-0/{0:020d}.log"]


def test_a_journal_that_cannot_be_flushed_takes_no_more_changes(tmp_path: Path, operations: Watched) -> None:
    """Nobody knows what of it is kept. It says so once. A log whose topic it was to keep is not flushed either; what
    was known before goes on."""
    data_dir = opened(tmp_path / "data", operations)
    data_dir.cluster_file.append(CHANGE)
    known = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(known, (0, 1))
    known.flush()
    operations.failing = CLUSTER_FILE
    data_dir.cluster_file.append({"topic": "u", "id": OTHER_ID})
    (said,) = told(data_dir.events, "cluster.journal.failed")
    assert "cannot flush" in said["reason"]
    assert "Input/output error" in said["reason"]
    operations.failing = ""
    with pytest.raises(OSError, match="Input/output error"):
        data_dir.cluster_file.append({"topic": "v", "id": OTHER_ID})
    log = data_dir.open_log("u", OTHER_ID, 0, WALL_MS)
    append(log, (0, 1))
    with pytest.raises(StorageError, match="cannot flush"):
        log.flush()
    append(known, (1, 1))
    known.flush()
    assert (known.flushed_offset, log.is_offline) == (2, True)


def test_a_stop_without_the_journal_on_the_device_is_not_clean(tmp_path: Path, operations: Watched) -> None:
    """The next start looks."""
    data_dir = opened(tmp_path / "data", operations, LateWorker())
    data_dir.cluster_file.append(CHANGE)
    operations.failing = CLUSTER_FILE
    with pytest.raises(OSError, match="Input/output error"):
        data_dir.close()
    assert not (tmp_path / "data" / "clean-shutdown.json").exists()


@pytest.mark.parametrize("lost", [shutil.rmtree, lambda path: [file.unlink() for file in path.glob("*.log")]])
def test_a_log_that_had_been_flushed_and_vanished_is_missed(tmp_path: Path, lost: Callable[[Path], object]) -> None:
    """An empty one would be a lie. One that was never flushed is a new one."""
    path = tmp_path / "data"
    data_dir = sorted_out(path, ("t", TOPIC_ID), ("u", OTHER_ID))
    for name, topic_id in (("t", TOPIC_ID), ("u", OTHER_ID)):
        append(data_dir.open_log(name, topic_id, 0, WALL_MS), (0, 5))
    data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    data_dir._logs["t-0"].flushed_offset = 5
    data_dir.save_recovery_points_soon()
    data_dir.release()
    lost(path / "t-0")
    lost(path / "u-0")
    for _ in range(2):
        again = sorted_out(path, ("t", TOPIC_ID), ("u", OTHER_ID))
        log = again.open_log("t", TOPIC_ID, 0, WALL_MS)
        assert log.is_offline
        (said,) = told(again.events, "log.offline")
        assert "gone" in str(said["reason"])
        assert not again.open_log("u", OTHER_ID, 0, WALL_MS).is_offline
        again.save_recovery_points_soon()
        again.release()


def test_the_recovery_point_waits_for_segments_of_the_process_before(tmp_path: Path, operations: Watched) -> None:
    """They are there after it was killed, and nobody had flushed them."""
    log = new_log(tmp_path / "log")
    append(log, (0, 5))
    log.roll(5, WALL_MS)
    append(log, (5, 5))
    again = after_crash(log, recovery_offset=0, disk=Disk(OpenFiles(100, operations), InlineWorker(), Told()))
    again.roll(10, WALL_MS)
    assert again.flushed_offset == 10
    flushed = {os.path.basename(path) for path in operations.flushed}
    assert {f"{0:020d}.log", f"{5:020d}.log", "log", "partition.metadata"} <= flushed


def test_a_missing_end_of_a_segment_is_no_gap_that_compaction_left(tmp_path: Path) -> None:
    """Beyond the recovery point nothing is compacted, so the log ends there; if nobody knows where that is, nothing is
    cut."""
    for recovery_offset, end_offset in ((0, 3), (None, 10)):
        log = new_log(tmp_path / str(recovery_offset))
        append(log, (0, 3), (3, 2))
        log.roll(5, WALL_MS)
        append(log, (5, 5))
        log.close()
        os.truncate(log.segments[0].path + ".log", 100)
        again = after_crash(log, recovery_offset)
        assert again.end_offset == end_offset
        assert len(logged(again, "log.cut")) == (recovery_offset == 0)


def test_nothing_is_compacted_while_the_active_segment_has_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no descriptor for it. After a crash what was compacted would be the last, and be taken for torn."""
    log = new_log(tmp_path / "log")
    append(log, (0, 5))

    def refuse(*_: object, **_more: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(log.disk.operations, "open", refuse)
        log.roll(5, WALL_MS)
        with pytest.raises(StorageError, match="Too many open files"):
            log.replace(log.segments[:1])
    assert not log.is_offline
    replacement = log.replace(log.segments[:1])
    replacement.append(batch(2, 1), 2, WALL_MS)
    replacement.commit()
    assert content(after_crash(log, log.end_offset)) == [(0, batch(2, 1)), (5, b"")]


class TestASwapThatWasCutShort:
    """The process was killed between two renames."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> DiskStorage:
        log = new_log(tmp_path / "log")
        append(log, (0, 5))
        log.segments[0].aborted.append(AbortedTransaction(7, 0, 4, 0))
        log.roll(5, WALL_MS)
        append(log, (5, 5))
        log.save_producers(5, [])
        return log

    def commit(self, log: DiskStorage, monkeypatch: pytest.MonkeyPatch, new_suffix: str) -> DiskStorage:
        """Have the process die before a file gets that name; returns the log after a crash."""
        rename = log.disk.operations.rename

        class Died(BaseException):
            """In the middle of it."""

        def rename_or_die(path: str, new_path: str) -> None:
            if new_path.endswith(new_suffix):
                raise Died
            rename(path, new_path)

        with monkeypatch.context() as patched:
            patched.setattr(log.disk.operations, "rename", rename_or_die)
            replacement = log.replace(log.segments[:1])
            replacement.append(batch(4, 1), 4, WALL_MS)
            with pytest.raises(Died):
                replacement.commit([AbortedTransaction(7, 0, 4, 0)])
        return after_crash(log, 5)

    @pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".log"])
    def test_on_its_way_in_leaves_nothing(self, log: DiskStorage, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
        """What it was to replace is all there."""
        again = self.commit(log, monkeypatch, f"swap{suffix}")
        assert content(again) == [(0, batch(0, 5)), (5, batch(5, 5))]
        assert not [name for name in os.listdir(log.directory) if "swap" in name or "cleaned" in name]

    @pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".log"])
    def test_to_its_last_name_arrives_with_all_that_is_its(
        self, log: DiskStorage, monkeypatch: pytest.MonkeyPatch, suffix: str
    ) -> None:
        """Whatever has arrived before is not removed."""
        again = self.commit(log, monkeypatch, f"/{0:020d}{suffix}")
        assert content(again) == [(0, batch(4, 1)), (5, batch(5, 5))]
        assert again.segments[0].aborted == [AbortedTransaction(7, 0, 4, 0)]


class TestTheJournalAfterThePowerWasLost:
    """Lines that had not been flushed are whole, or have zeros in them."""

    @pytest.fixture
    def data_dir(self, tmp_path: Path) -> DataDir:
        data_dir = sorted_out(tmp_path / "data")
        for name in "abc":
            data_dir.cluster_file.append({"topic": name})
        data_dir.release()
        lines = (tmp_path / "data" / CLUSTER_FILE).read_bytes().splitlines(keepends=True)
        lines[2] = bytes(len(lines[2]))
        (tmp_path / "data" / CLUSTER_FILE).write_bytes(b"".join(lines))
        return data_dir

    def test_ends_before_the_first_that_is_not(self, data_dir: DataDir) -> None:
        """None of what follows had been promised."""
        changes, bytes_cut = data_dir.cluster_file.open()
        assert list(changes) == [{"topic": "a"}]
        assert bytes_cut > 20
        data_dir.cluster_file.append({"topic": "z"})
        assert list(data_dir.cluster_file.open()[0]) == [{"topic": "a"}, {"topic": "z"}]

    def test_is_refused_after_a_clean_stop(self, data_dir: DataDir) -> None:
        """All of it had been flushed, so it was changed."""
        with pytest.raises(ClusterFileDamagedError, match="line 3"):
            data_dir.cluster_file.open(was_clean=True)


def test_a_deletion_that_was_not_on_the_device_did_not_happen(tmp_path: Path) -> None:
    """The topic is there, and its log is, whatever had been made in its place meanwhile."""
    path = tmp_path / "data"
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5))
    (path / "t-0").rename(path / f"t-0.{'0' * 32}-delete")
    (path / "t-0").mkdir()
    (path / "t-0" / "partition.metadata").touch()
    data_dir.release()
    again = sorted_out(path, ("t", TOPIC_ID))
    assert again.open_log("t", TOPIC_ID, 0, WALL_MS).end_offset == 5
    assert told(again.events, "log.stray")

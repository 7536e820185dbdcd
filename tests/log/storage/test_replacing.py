"""Compaction of a log on disk whose worker takes its time."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.log.compaction.cleanable import look_at
from ottla.log.compaction.log_cleaner import clean
from ottla.log.partition import Partition
from ottla.log.storage.contract import StorageError
from ottla.log.storage.file_operations import FileOperations
from ottla.log.storage.files import OpenFiles
from ottla.log.storage.shared import Disk
from ottla.log.storage.worker import Then, Work
from tests.log.partitions import NOW_MS, fill, new_partition, read_all
from tests.log.storage.disks import after_crash, new_log
from tests.support.batches import batch
from tests.support.told import Told

COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}


class LateWorker:
    """Does nothing before it is told to."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Work, Then]] = []

    def do(self, work: Work, then: Then) -> None:
        self.jobs.append((work, then))

    def drain(self) -> None:
        while self.jobs:
            work, then = self.jobs.pop(0)
            work()
            then(None)


def closed_segment(log: Partition, number: int) -> None:
    fill(log, batch([(b"a", b"%d" % number)]), batch([(b"b", b"%d" % number)]))
    log._roll(NOW_MS)


def done(work: Iterator[None]) -> None:
    for _ in work:
        pass


def test_a_segment_on_its_way_is_not_compacted_again(tmp_path: Path) -> None:
    """Two that stand for the same offsets might be on the disk then, and a crash would leave the older one, without all
    that came after it."""
    worker = LateWorker()
    storage = new_log(tmp_path / "log", Disk(OpenFiles(100, FileOperations()), worker, Told()))
    log = new_partition(COMPACTED, storage=storage)
    for number in range(3):
        closed_segment(log, number)
        cleanable = look_at(log, NOW_MS)
        if cleanable.is_due:
            done(clean(cleanable, NOW_MS, 1 << 20))
            log.cleaned_offset = cleanable.end_offset
    assert log.is_replacing
    assert len(list(Path(storage.directory).glob("*.swap.log"))) == 1
    expected = {record.key: record.value for record in read_all(log)}
    again = new_partition(COMPACTED, storage=after_crash(storage))
    assert {record.key: record.value for record in read_all(again)} == expected == {b"a": b"2", b"b": b"2"}


def test_it_is_when_it_has_arrived(tmp_path: Path) -> None:
    """What was put off is made up for."""
    worker = LateWorker()
    log = new_partition(
        COMPACTED, storage=new_log(tmp_path / "log", Disk(OpenFiles(100, FileOperations()), worker, Told()))
    )
    closed_segment(log, 0)
    done(clean(look_at(log, NOW_MS), NOW_MS, 1 << 20))
    closed_segment(log, 1)
    assert not look_at(log, NOW_MS).is_due
    worker.drain()
    assert look_at(log, NOW_MS).is_due
    done(clean(look_at(log, NOW_MS), NOW_MS, 1 << 20))
    worker.drain()
    assert [record.value for record in read_all(log)] == [b"1", b"1"]
    log.close()


def test_files_of_a_topic_made_anew_are_not_those_to_be_removed(tmp_path: Path) -> None:
    """The worker comes to it late: by then another log is in a directory of that name."""
    worker = LateWorker()
    disk = Disk(OpenFiles(100, FileOperations()), worker, Told())
    log = new_partition(COMPACTED, storage=new_log(tmp_path / "log", disk))
    closed_segment(log, 0)
    closed_segment(log, 1)
    done(clean(look_at(log, NOW_MS), NOW_MS, 1 << 20))
    log.delete()
    anew = new_log(tmp_path / "log", disk)
    fill(new_partition(COMPACTED, storage=anew), batch([(b"a", b"anew")]))
    worker.drain()
    assert Path(anew.segments[0].path + ".log").stat().st_size == anew.segments[0].size_bytes > 0
    assert after_crash(anew).end_offset == 1


def test_a_directory_that_turns_read_only_takes_the_log_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cleaner is told in the way it can deal with, and the broker goes on."""
    storage = new_log(tmp_path / "log")
    log = new_partition(COMPACTED, storage=storage)
    closed_segment(log, 0)
    closed_segment(log, 1)

    def refusing(_path: str, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patched:
        patched.setattr(storage.disk.operations, "unlink", refusing)
        with pytest.raises(StorageError, match="Read-only file system"):
            done(clean(look_at(log, NOW_MS), NOW_MS, 1 << 20))
    assert log.is_offline

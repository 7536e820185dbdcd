"""When the system refuses: nothing is acknowledged that is not kept, and people are told why."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.log.partition import Partition
from ottla.log.partition_answers import LATEST_TIMESTAMP
from ottla.log.storage.contract import StorageError
from ottla.log.storage.disk import DiskStorage
from ottla.protocol.errors import ErrorCode
from tests.conformance.log_storage import WALL_MS, append, content
from tests.log.partitions import NOW_MS, batch_of, fill, new_partition, numbered, produce, sized_batch
from tests.log.storage.disks import after_crash, logged, new_disk, new_log, reopened

OTHER_ID = "AAAAAAAAQACAAAAAAAAAAg"


@pytest.fixture
def log(tmp_path: Path) -> DiskStorage:
    return new_log(tmp_path / "log")


@pytest.fixture
def partition(log: DiskStorage) -> Partition:
    return new_partition(storage=log)


class FullDisk:
    """A disk with room for so many more bytes."""

    def __init__(self, log: DiskStorage, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._pwrite = os.pwrite
        monkeypatch.setattr(log.disk.operations, "pwrite", self.pwrite)

    def pwrite(self, fd: int, data: bytes, position: int) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._pwrite(fd, memoryview(data)[: self.room], position)
        self.room -= written
        return written


def check_offline(partition: Partition) -> None:
    """Whatever it is asked for, it says that its storage has failed."""
    storage_error = ErrorCode.KAFKA_STORAGE_ERROR
    assert partition.is_offline
    assert produce(partition, batch_of(1)).error is storage_error
    assert partition.read(0, 1000).error is storage_error
    assert partition.offset_for_timestamp(LATEST_TIMESTAMP, None).error is storage_error
    assert partition.delete_records(0) == (storage_error, -1)


def test_a_directory_that_could_not_be_removed_is_not_written_to(
    log: DiskStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic was deleted and is made anew: its batches must not come to stand among those of the one before."""
    append(log, (0, 5), (5, 5))

    def fails(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(log.disk.operations, "rename", fails)
        log.delete()
    assert logged(log, "log.removal.failed")
    again = DiskStorage(log.disk, log.directory, OTHER_ID, WALL_MS)
    with pytest.raises(StorageError, match="the log of a deleted topic is there still"):
        append(again, (0, 1))
    assert again.is_offline


@pytest.mark.parametrize("room", [0, 1, 60, 299])
def test_a_full_disk(partition: Partition, log: DiskStorage, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """What was acknowledged is whole, what did not fit has left nothing, and after a restart the log goes on."""
    fill(partition, sized_batch(300), sized_batch(300))
    before = content(log)
    with monkeypatch.context() as patched:
        FullDisk(log, patched, room)
        answer = produce(partition, sized_batch(300))
        assert answer.error is ErrorCode.KAFKA_STORAGE_ERROR
        assert "No space left on device: make room" in str(answer.error_message)
    check_offline(partition)
    (said,) = logged(log, "log.offline")
    assert "No space left on device" in str(said["reason"])
    assert os.stat(log.segments[0].path + ".log").st_size == 600
    assert (partition.log_end_offset, partition.high_watermark) == (2, 2)
    again = after_crash(log)
    assert content(again) == before
    assert not logged(again, "log.cut")
    assert produce(new_partition(storage=again), sized_batch(300)).base_offset == 2


def test_a_repeat_is_not_acknowledged_by_a_log_that_failed(
    partition: Partition, log: DiskStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was kept, but nobody knows for how long."""
    fill(partition, numbered(0))
    with monkeypatch.context() as patched:
        FullDisk(log, patched, 0)
        produce(partition, numbered(1))
    assert produce(partition, numbered(0)).error is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_limit_on_the_size_of_files(partition: Partition, log: DiskStorage) -> None:
    """The system's own refusal, and its own short write."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    fill(partition, sized_batch(300))
    resource.setrlimit(resource.RLIMIT_FSIZE, (450, before[1]))
    try:
        assert produce(partition, sized_batch(300)).error is ErrorCode.KAFKA_STORAGE_ERROR
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.stat(log.segments[0].path + ".log").st_size == 300
    check_offline(partition)


def test_a_flush_that_fails(log: DiskStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What flush.messages has flushed first is not acknowledged, for the system may have dropped it."""

    def failing(_fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    partition = new_partition({"flush.messages": "2"}, storage=log)
    fill(partition, batch_of(1))
    monkeypatch.setattr(log.disk.operations, "fdatasync", failing)
    assert produce(partition, batch_of(1)).error is ErrorCode.KAFKA_STORAGE_ERROR
    monkeypatch.undo()
    check_offline(partition)


@pytest.mark.parametrize("attempts_failing", [1, 99])
def test_a_flush_for_which_there_is_no_descriptor(
    log: DiskStorage, monkeypatch: pytest.MonkeyPatch, attempts_failing: int
) -> None:
    """It is tried again with fewer files open. If that doesn't help the log is offline: the batch that was refused is
    in it, and the next must not get the same offset."""
    opened = os.open
    attempts = 0

    def short(path: str, flags: int, *rest: int, **more: int) -> int:
        nonlocal attempts
        if flags & os.O_DIRECTORY:
            attempts += 1
            if attempts <= attempts_failing:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, flags, *rest, **more)

    partition = new_partition({"flush.messages": "1"}, storage=log)
    with monkeypatch.context() as patched:
        patched.setattr(log.disk.operations, "open", short)
        error = produce(partition, batch_of(1)).error
    assert attempts >= 2
    if attempts_failing == 1:
        assert error is ErrorCode.NONE
        assert produce(partition, batch_of(1)).base_offset == 1
    else:
        assert error is ErrorCode.KAFKA_STORAGE_ERROR
        check_offline(partition)


def test_retention_finds_damage_when_it_closes_the_active_segment(log: DiskStorage) -> None:
    """That log is offline, and retention goes on with the others."""
    partition = new_partition({"retention.ms": "1000"}, storage=log)
    fill(partition, sized_batch(300), sized_batch(300))
    partition.close()
    again = reopened(log)
    os.truncate(log.segments[0].path + ".log", 450)
    os.unlink(log.segments[0].path + ".index")
    partition = new_partition({"retention.ms": "1000"}, storage=again)
    partition.apply_retention(NOW_MS + 100_000)
    check_offline(partition)


@pytest.mark.parametrize("wrong_by", [-1, 1])
def test_a_mark_that_tells_another_end_than_the_log(log: DiskStorage, wrong_by: int) -> None:
    """Nothing is written at an offset that is taken, nor beyond a hole."""
    append(log, (0, 5), (5, 5))
    log.flush()
    log.close()
    log.segments[-1].next_offset += wrong_by
    again = reopened(log)
    with pytest.raises(StorageError, match="it ends at offset 10 instead of"):
        append(again, (10 + wrong_by, 1))
    assert again.is_offline


def test_a_disk_that_can_be_read_no_more(
    partition: Partition, log: DiskStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch is answered an error, and no bytes."""

    def failing(_fd: int, _size: int, _position: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    fill(partition, batch_of(1), batch_of(1))
    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", failing)
        assert partition.read(0, 1000).error is ErrorCode.KAFKA_STORAGE_ERROR
    check_offline(partition)
    assert "Input/output error" in str(logged(log, "log.offline")[0]["reason"])


def test_flushing_happens_when_the_topic_says(log: DiskStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many records before they are acknowledged; after so long when that is looked for."""
    flushed: list[int] = []
    monkeypatch.setattr(log.disk.operations, "fdatasync", flushed.append)
    partition = new_partition({"flush.messages": "3", "flush.ms": "100"}, storage=log)
    counts = []
    for _ in range(7):
        fill(partition, batch_of(1))
        counts.append(len(flushed))
    assert counts == [0, 0, 1, 1, 1, 2, 2]
    partition.flush_if_due(NOW_MS + 99)
    assert len(flushed) == 2
    partition.flush_if_due(NOW_MS + 100)
    partition.flush_if_due(NOW_MS + 300)
    assert len(flushed) == 3
    assert log.flushed_offset == 7
    fill(partition, batch_of(1))
    partition.flush_if_due(
        NOW_MS + 301 - 3_600_000
    )  # the date has gone back, and nobody waits until it is reached again
    assert log.flushed_offset == 8


class TestOpenFiles:
    """Few are open, however many logs are used."""

    @pytest.fixture
    def few_descriptors(self) -> Iterator[None]:
        """Leave the process five descriptors it may open."""
        resource = pytest.importorskip("resource")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        probe = os.open(os.devnull, os.O_RDONLY)
        os.close(probe)
        resource.setrlimit(resource.RLIMIT_NOFILE, (probe + 5, before[1]))
        yield
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    def test_are_bounded(self, tmp_path: Path) -> None:
        """Those used last are open; every log is readable."""
        disk = new_disk(files_max=4)
        logs = [new_log(tmp_path / str(number), disk) for number in range(20)]
        for round_ in range(3):
            for log in logs:
                append(log, (round_, 1))
                assert len(disk.files) <= 4
        assert all(len(content(log)[0][1]) == 300 for log in logs)
        assert sum(segment.fd >= 0 for log in logs for segment in log.segments) <= 4

    def test_make_room_when_the_system_has_no_more(self, tmp_path: Path, few_descriptors: None) -> None:
        """Some are let go, and nobody notices."""
        disk = new_disk(files_max=1000)
        logs = [new_log(tmp_path / str(number), disk) for number in range(20)]
        for log in logs:
            append(log, (0, 1))
        assert all(len(content(log)[0][1]) == 100 for log in logs)

    def test_a_system_that_has_none_at_all(self, log: DiskStorage, monkeypatch: pytest.MonkeyPatch) -> None:
        """The request is refused, and the next one may succeed: nothing is wrong with the log."""
        append(log, (0, 1))
        log.close()

        def refuse(*_: object, **_more: object) -> int:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        with monkeypatch.context() as patched:
            patched.setattr(log.disk.operations, "open", refuse)
            with pytest.raises(StorageError, match="Too many open files: raise the limit"):
                append(log, (1, 1))
        assert not log.is_offline
        append(log, (1, 1))
        assert log.end_offset == 2


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """The first batch is refused, and the log says where it wanted to go."""
    (tmp_path / "log").write_text("")
    partition = new_partition(storage=new_log(tmp_path / "log"))
    assert produce(partition, batch_of(1)).error is ErrorCode.KAFKA_STORAGE_ERROR
    check_offline(partition)


def test_a_roll_that_fails(partition: Partition, log: DiskStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next append says so; what was there is whole."""
    fill(partition, batch_of(1))
    open_file = os.open

    def refuse(path: str, *rest: int, **more: int) -> int:
        if path.endswith(f"{1:020d}.log"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return open_file(path, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(log.disk.operations, "open", refuse)
        log.roll(1, WALL_MS)
    with pytest.raises(StorageError, match="offline"):
        append(log, (1, 1))
    assert after_crash(log).end_offset == 1


def test_deleted_segments_are_off_the_disk(log: DiskStorage) -> None:
    """And what a crash left of them goes with the next start."""
    append(log, (0, 5))
    log.roll(5, WALL_MS)
    append(log, (5, 5))
    log.remove_oldest(1)
    assert not [name for name in os.listdir(log.directory) if name.startswith(f"{0:020d}")]
    (Path(log.directory) / f"{0:020d}.log.deleted").write_bytes(b"old")
    assert content(after_crash(log)) == content(log)
    assert not list(Path(log.directory).glob("*.deleted"))


def test_a_deleted_log_is_off_the_disk(log: DiskStorage, tmp_path: Path) -> None:
    """The name is free at once, for a new topic."""
    append(log, (0, 5))
    log.delete()
    assert os.listdir(tmp_path) == []
    append(new_log(tmp_path / "log"), (0, 1))
    assert os.listdir(tmp_path) == ["log"]


def test_a_clean_start_opens_no_segment(
    partition: Partition, log: DiskStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of logs are there again at once; the first who wants something of one opens it."""
    fill(partition, *[batch_of(1)] * 100)
    partition.close()

    def refuse(*_: object, **_more: object) -> int:
        raise AssertionError("a segment was opened")

    with monkeypatch.context() as patched:
        patched.setattr(log.disk.operations, "open", refuse)
        again = new_partition(storage=reopened(log))
    assert (again.log_end_offset, len(again.read(99, 1000).records)) == (100, len(batch_of(1)))

"""The storage on disk fills the contract, whichever way it ended before it is opened again."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from ottla.log.storage.contract import LogStorage
from ottla.log.storage.disk import DiskStorage
from tests.conformance.log_storage import LogStorageContract
from tests.log.storage.disks import after_crash, new_disk, new_log, reopened


class DiskContract(LogStorageContract):
    """On disk."""

    @pytest.fixture(autouse=True)
    def directory(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.numbers = count()

    def open(self) -> LogStorage:
        return new_log(self.tmp_path / f"log-{next(self.numbers)}")


class TestAfterACleanStop(DiskContract):
    """Nothing is read until it is needed."""

    def reopen(self, storage: LogStorage) -> LogStorage:
        assert isinstance(storage, DiskStorage)
        return reopened(storage)


class TestAfterACrash(DiskContract):
    """Everything is read and checked."""

    def reopen(self, storage: LogStorage) -> LogStorage:
        assert isinstance(storage, DiskStorage)
        return after_crash(storage)


class TestAfterACrashWhenAllWasFlushed(DiskContract):
    """Nothing is checked but the last few batches of each file."""

    def reopen(self, storage: LogStorage) -> LogStorage:
        assert isinstance(storage, DiskStorage)
        return after_crash(storage, storage.end_offset)


class TestWithFewOpenFiles(DiskContract):
    """Every other file that is used has to be opened first."""

    def open(self) -> LogStorage:
        return new_log(self.tmp_path / f"log-{next(self.numbers)}", new_disk(files_max=1))

    def reopen(self, storage: LogStorage) -> LogStorage:
        assert isinstance(storage, DiskStorage)
        return reopened(storage)

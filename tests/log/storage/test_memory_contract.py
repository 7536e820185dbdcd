"""The storage in memory fills the contract."""

from __future__ import annotations

from ottla.log.storage.contract import LogStorage
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import MemoryStorage
from tests.conformance.log_storage import WALL_MS, LogStorageContract


class TestMemoryStorage(LogStorageContract):
    """Its restart is that of the partition alone: the process, and with it the memory, lives on."""

    def open(self) -> LogStorage:
        return MemoryStorage(LogBytes(1 << 30), WALL_MS)

    def reopen(self, storage: LogStorage) -> LogStorage:
        return storage

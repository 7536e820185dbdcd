"""A partition on disk does what one in memory does, whatever is done to it, stopped in order or not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis.stateful import invariant, precondition, rule

from tests.log.partitions import new_partition
from tests.log.storage.disks import after_crash, new_disk, new_log, reopened
from tests.log.test_partition_model import CONFIGS, PartitionModel


class DiskPartitionModel(PartitionModel):
    """The same rules, and crashes; three files may be open."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.disk_log = new_log(Path(self._directory.name, "log"), new_disk(files_max=3))
        self.partition = new_partition(CONFIGS, storage=self.disk_log)

    @rule()
    def reopen(self) -> None:
        """A restart finds what was there, and reads nothing of it."""
        self.partition.close()
        self.disk_log = reopened(self.disk_log)
        self.partition = new_partition(CONFIGS, storage=self.disk_log)

    @precondition(lambda self: self.disk_log.is_made)
    @rule()
    def crash(self) -> None:
        """Without a word: what was flushed is believed, the rest is looked at."""
        self.disk_log = after_crash(self.disk_log, self.disk_log.flushed_offset)
        assert not self.disk_log.is_offline
        self.partition = new_partition(CONFIGS, storage=self.disk_log)

    @rule()
    def flush(self) -> None:
        """Nothing changes by that."""
        self.disk_log.flush()

    @invariant()
    def every_byte_is_accounted_for(self) -> None:
        """By the sizes of the files."""
        size = sum(run.size for run in self.runs)
        files = Path(self.disk_log.directory).glob("*.log")
        assert (self.partition.size_bytes, sum(file.stat().st_size for file in files)) == (size, size)

    def teardown(self) -> None:
        self.partition.close()
        self._directory.cleanup()


TestDiskPartitionModel = DiskPartitionModel.TestCase
TestDiskPartitionModel.settings = settings(stateful_step_count=40, deadline=None)

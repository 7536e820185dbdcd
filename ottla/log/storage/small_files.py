"""The small files beside a log's batches: its epochs, where it begins, its producers, its aborted transactions.

They are written anew when what they say has changed, and survive the process from then on. Those that say that others
are complete come last, and the others are on the device before. Kafka: LeaderEpochCheckpointFile, ProducerStateManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.log.storage import checkpoints
from ottla.log.storage.contract import LogState
from ottla.log.storage.disk_segment import file_stem
from ottla.log.storage.producer_snapshot import SNAPSHOT_SUFFIX, TXN_INDEX_SUFFIX, encode_aborted, encode_producers

if TYPE_CHECKING:
    from ottla.log.producer_entry import ProducerEntry
    from ottla.log.storage.segment import AbortedTransaction
    from ottla.log.storage.shared import Disk

NO_SNAPSHOT: Final = -1


class SmallFiles:
    """What is beside the batches of one log. Whatever writes raises OSError."""

    __slots__ = ("_directory", "_disk", "snapshot_offset", "state_saved")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        #: What the files say.
        self.state_saved = LogState(0, ())
        #: Of the snapshot of producers.
        self.snapshot_offset = NO_SNAPSHOT

    def write_state(self, state: LogState) -> None:
        """Replace the files whose content has changed."""
        if self.state_saved.leader_epochs != state.leader_epochs:
            self._write_epochs(checkpoints.encode_epochs(state.leader_epochs))
            self.state_saved = replace(self.state_saved, leader_epochs=state.leader_epochs)
        if self.state_saved.log_start_offset != state.log_start_offset:
            self._put(checkpoints.LOG_START, checkpoints.encode_number(state.log_start_offset))
            self.state_saved = replace(self.state_saved, log_start_offset=state.log_start_offset)

    def _write_epochs(self, data: bytes) -> None:
        """Every start does this for every log, so it has to be cheap."""
        path, saved = f"{self._directory}/{checkpoints.LEADER_EPOCHS}", self.state_saved.leader_epochs
        if saved and len(data) >= len(checkpoints.encode_epochs(saved)):
            self._disk.files.with_room(lambda: self._disk.operations.write_over(path, data))
        else:
            self._put(checkpoints.LEADER_EPOCHS, data)

    def write_aborted(self, stem: str, aborted: Sequence[AbortedTransaction]) -> None:
        """Have a segment's on the device, before the snapshot of producers, which says that they are complete."""
        self._put(f"{stem}{TXN_INDEX_SUFFIX}", encode_aborted(aborted), sync=True)

    def write_producers(self, offset: int, producers: Iterable[ProducerEntry]) -> None:
        """Write their snapshot, which takes the place of the one before."""
        self._put(f"{file_stem(offset)}{SNAPSHOT_SUFFIX}", encode_producers(producers))
        if self.snapshot_offset >= 0:
            with suppress(OSError):
                self._disk.operations.unlink(f"{self._directory}/{file_stem(self.snapshot_offset)}{SNAPSHOT_SUFFIX}")
        self.snapshot_offset = offset

    def _put(self, name: str, data: bytes, *, sync: bool = False) -> None:
        """Replace a file, which survives the process from now on, and the machine soon, or with `sync` now."""
        path = f"{self._directory}/{name}"
        self._disk.files.with_room(lambda: self._disk.operations.write_file(path, data, sync=sync))

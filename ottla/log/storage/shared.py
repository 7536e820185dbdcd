"""What the logs of a data directory share: its open files, the worker, and what they tell the directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ottla.log.storage.files import OpenFiles

if TYPE_CHECKING:
    from ottla.events.stream import Stream
    from ottla.log.storage.file_operations import FileOperations
    from ottla.log.storage.worker import DiskWorker, Then


class FlushedLog(Protocol):
    """What the directory needs to know of a log that was flushed."""

    @property
    def directory(self) -> str:
        """Where it is."""

    @property
    def topic_id(self) -> str:
        """Of which topic it is."""

    @property
    def flushed_offset(self) -> int:
        """Up to where it is on the device."""


def _nothing() -> None:
    """Nothing has to be on the device before."""


def _noted(_log: FlushedLog, then: Then) -> None:
    then(None)


@dataclass(slots=True)
class Disk:
    """What the logs of a data directory share."""

    files: OpenFiles
    worker: DiskWorker
    events: Stream
    #: Has on the device which topics and directories there are. Raises OSError.
    sync_cluster: Callable[[], None] = _nothing
    #: Has it noted there that a log is flushed up to its `flushed_offset`, before `then` is called.
    note_flushed: Callable[[FlushedLog, Then], None] = _noted

    @property
    def operations(self) -> FileOperations:
        return self.files.operations

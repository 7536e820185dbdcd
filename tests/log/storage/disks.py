"""Logs on disk for tests: in a directory of their own, with a worker that does everything at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.file_operations import FileOperations
from ottla.log.storage.files import OpenFiles
from ottla.log.storage.log_opening import describe_log, open_after_crash, open_clean
from ottla.log.storage.shared import Disk
from ottla.log.storage.worker import Then, Work
from tests.conformance.log_storage import WALL_MS
from tests.support.told import Told

TOPIC_ID: Final = "AAAAAAAAQACAAAAAAAAAAQ"


class InlineWorker:
    """Does the work at once, and needs no loop."""

    def do(self, work: Work, then: Then) -> None:
        try:
            work()
        except OSError as error:
            then(error)
        else:
            then(None)

    def drain(self) -> None:
        """All is done."""


class OpenUntilForgotten(OpenFiles):
    """As the system does it for a process that has died: closes what nobody closed when nobody is there any more."""

    __slots__ = ()

    def __del__(self) -> None:
        self._make_room(0)


def new_disk(files_max: int = 100) -> Disk:
    """Its `log` keeps what is logged."""
    return Disk(OpenUntilForgotten(files_max, FileOperations()), InlineWorker(), Told())


def new_log(directory: Path, disk: Disk | None = None) -> DiskStorage:
    return DiskStorage(disk or new_disk(), str(directory), TOPIC_ID, WALL_MS)


def reopened(log: DiskStorage) -> DiskStorage:
    """The log after a clean stop: `log` is closed."""
    return open_clean(new_disk(), log.directory, TOPIC_ID, json.loads(json.dumps(describe_log(log))))


def after_crash(log: DiskStorage, recovery_offset: int | None = None, disk: Disk | None = None) -> DiskStorage:
    """The log as somebody finds it who knows nothing but what was flushed, or, with None, not even that."""
    if not log.is_made:
        return new_log(Path(log.directory))
    return open_after_crash(disk or new_disk(), log.directory, TOPIC_ID, recovery_offset, WALL_MS)


def logged(log: DiskStorage, event: str) -> list[dict[str, object]]:
    """The keys of each such event."""
    kept = log.disk.events
    assert isinstance(kept, Told)
    return kept.named(event)

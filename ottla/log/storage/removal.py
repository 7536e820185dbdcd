"""Taking logs and segments off the disk: out of the way at once, and removed by the worker.

    00000000000000000000.log.deleted    a segment that retention has taken
    orders-3.<random>-delete/           the log of a topic that was deleted

A crash between is made good by the next start: what has such a name goes. But if the machine went down before the
deletion of the topic was on the device, the topic is there again, and its log gets its name back; so that is waited for
before anything in it is removed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ottla.events.kind import Kind
from ottla.log.storage.disk_segment import LOG_SUFFIX
from ottla.log.storage.files import describe
from ottla.log.storage.producer_snapshot import TXN_INDEX_SUFFIX
from ottla.log.storage.sparse_index import INDEX_SUFFIX, TIME_INDEX_SUFFIX

if TYPE_CHECKING:
    from ottla.log.storage.file_operations import FileOperations
    from ottla.log.storage.shared import Disk

DELETED_SUFFIX: Final = ".deleted"
#: Directories of logs that are being deleted end so.
DELETE_SUFFIX: Final = "-delete"
NAME_BYTES_MAX: Final = 255


def remove_segments(operations: FileOperations, directory: int, stems: Sequence[str]) -> None:
    """Remove the files of segments whose logs are called `.deleted` already, and close the directory. Raises OSError.

    A segment of that name tells the next start that all before it were to go, whichever of them have.
    """
    try:
        operations.fsync(directory)
        for stem in stems:
            for suffix in (LOG_SUFFIX + DELETED_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
                with suppress(FileNotFoundError):
                    operations.unlink(stem + suffix, dir_fd=directory)
    finally:
        os.close(directory)


def delete_directory(directory: str, disk: Disk) -> None:
    """Take a log's directory out of the way at once, and have it removed by the worker. A crash between is made good
    by the next start. Kafka: LogManager.asyncDelete."""
    doomed = with_ending(directory, DELETE_SUFFIX)
    try:
        disk.operations.rename(directory, doomed)
    except OSError as error:
        disk.events.tell(Kind.LOG_REMOVAL_FAILED, directory=directory, reason=describe(error))
        return
    remove_directory(doomed, disk)


def remove_directory(doomed: str, disk: Disk) -> None:
    """Have the worker remove a directory that has been renamed."""

    def then(error: Exception | None) -> None:
        if error is not None:
            disk.events.tell(Kind.LOG_REMOVAL_FAILED, directory=doomed, reason=describe(error))

    def remove() -> None:
        disk.sync_cluster()  # or a crash might leave the topic, and not its log
        disk.operations.rmtree(doomed)

    disk.worker.do(remove, then)


def with_ending(directory: str, suffix: str) -> str:
    """Another name for a log's directory: `<topic>-<partition>.<random><suffix>`, with as much of the topic's name as
    there is room for."""
    parent, name = os.path.split(directory)
    topic, _, index = name.rpartition("-")
    ending = f"-{index}.{os.urandom(16).hex()}{suffix}"
    return f"{parent}/{topic[: NAME_BYTES_MAX - len(ending)]}{ending}"

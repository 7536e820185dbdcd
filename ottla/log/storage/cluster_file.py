"""What a restarted cluster needs besides its logs: a file of changes, one a line, newest last.

    8c4f01aa {"format": 1}
    51e0c7d2 {"topic": "orders", "id": "MXf…", "configs": {"retention.ms": "1000"}, "replicas": [[1], [1]]}
    0b77a3f0 {"settings": "1", "configs": {"log.retention.ms": "5000"}}
    77d09c11 {"deleted": "orders", "id": "MXf…"}

Before each change stands its checksum. A change says all there is to say about its thing, so the last one about a thing
is the one that counts; `kind` of a change is its first key. A line is handed to the operating system before a client is
told of the change, and flushed soon after by the worker; nothing that depends on it counts as flushed before that. At a
start the file is written anew when most of it is past.

A last line without an end was torn by a crash: no client was told of it, and it is cut off. So is, unless the broker
was stopped as it should be, all from the first line on that has zeros in it: it had not been flushed when the machine
went down. Any other line that is not right was changed from outside, and nothing is guessed about it. A file that
could not be flushed takes no more changes: it is unknown then what of it is on disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ottla.events.kind import Kind
from ottla.log.storage.files import describe, read_file
from ottla.protocol.crc32c import crc32c

if TYPE_CHECKING:
    from ottla.events.stream import Stream
    from ottla.log.storage.file_operations import FileOperations
    from ottla.log.storage.worker import DiskWorker

CLUSTER_FILE: Final = "cluster.journal"

_HEAD: Final[Mapping[str, Any]] = {"format": 1}
#: It is left as it is up to this size, whatever is in it.
_BYTES_MIN: Final = 64 * 1024

Change: TypeAlias = Mapping[str, Any]


class ClusterFileDamagedError(Exception):
    """A line that was written is not right any more. The text says where."""


class ClusterFile:
    """The file of a data directory."""

    def __init__(self, directory: str, worker: DiskWorker, operations: FileOperations, events: Stream) -> None:
        self._path = f"{directory}/{CLUSTER_FILE}"
        self._worker = worker
        self._operations = operations
        self._events = events
        self._fd = -1
        self._size = 0
        self._size_synced = 0
        self._sync_is_due = False
        #: Why it could not be flushed; None: it could.
        self._failure: OSError | None = None

    def open(self, *, may_be_new: bool = True, was_clean: bool = False) -> tuple[list[Change], int]:
        """(the changes, oldest first; how many bytes of torn ones were cut off).

        `may_be_new`: whether it is made if it is not there. `was_clean`: whether all of it had been flushed. Raises
        OSError, or `ClusterFileDamagedError`.
        """
        data = read_file(self._path)
        if data is None:
            if not may_be_new:
                raise ClusterFileDamagedError("it is gone, and there are logs")
            data = _line(_HEAD)
            self._operations.write_file(self._path, data)
        whole = data[: data.rfind(b"\n") + 1]
        if not was_clean and (lost := whole.find(b"\0")) >= 0:
            whole = whole[: whole.rfind(b"\n", 0, lost) + 1]
        changes = [_parse(line, number) for number, line in enumerate(whole.splitlines(), 1)]
        if not changes or changes[0] != _HEAD:
            raise ClusterFileDamagedError("line 1 is not what such a file begins with")
        self._fd = self._operations.open_file(self._path, os.O_RDWR)
        self._size = len(whole)
        if was_clean:
            self._size_synced = self._size
        elif self._size < len(data):
            self._operations.ftruncate(self._fd, self._size)
            self.sync()  # or what is cut off might be back, behind what is written now
        return changes[1:], len(data) - len(whole)

    def append(self, change: Change) -> None:
        """Write a change. Raises OSError, and nothing is written."""
        if self._failure is not None:
            raise self._failure
        line = _line(change)
        self._operations.write_at(self._fd, line, self._size)
        self._size += len(line)
        if not self._sync_is_due:
            self._sync_is_due = True
            self._worker.do(self._sync_soon, self._synced)

    def _sync_soon(self) -> None:
        self._sync_is_due = False
        self.sync()

    def _synced(self, error: Exception | None) -> None:
        if error is not None:
            self._events.tell(Kind.CLUSTER_JOURNAL_FAILED, reason=f"cannot flush {self._path}: {describe(error)}")

    def sync(self) -> None:
        """Have all changes on the device. Raises OSError, and from then on always."""
        if self._failure is not None:
            raise self._failure
        size = self._size
        if self._size_synced < size:
            try:
                self._operations.fsync(self._fd)
            except OSError as error:
                self._failure = error
                raise
            self._size_synced = size

    def rewrite_if_worth_it(self, changes: Iterable[Change]) -> None:
        """Keep only these, which say all that counts, if that makes the file much smaller. Raises OSError."""
        if self._size <= _BYTES_MIN:
            return
        data = _line(_HEAD) + b"".join(map(_line, changes))
        if 2 * len(data) < self._size:
            self._operations.write_file(self._path, data)
            os.close(self._fd)
            self._fd = self._operations.open_file(self._path, os.O_RDWR)
            self._size = self._size_synced = len(data)

    def close(self) -> None:
        """Flush it and let go of the file. Raises OSError."""
        if self._fd >= 0:
            try:
                self.sync()
            finally:
                os.close(self._fd)
                self._fd = -1


def _line(change: Change) -> bytes:
    text = json.dumps(change, separators=(",", ":")).encode()
    return b"%08x %s\n" % (crc32c(text), text)


def _parse(line: bytes, number: int) -> Change:
    text = line[9:]
    if line[:9] != b"%08x " % crc32c(text):
        raise ClusterFileDamagedError(f"line {number} does not match its checksum")
    change: Change = json.loads(text)
    return change

"""The lock of a data directory: a file that the process which uses it keeps locked, with its id in it.

The lock ends with the process, however it ends.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.log.storage.file_operations import FileOperations

LOCK: Final = ".lock"
_NOT_OPEN: Final = -1


class DirectoryLock:
    """The lock of one directory."""

    def __init__(self, directory: str, operations: FileOperations) -> None:
        self._path = f"{directory}/{LOCK}"
        self._operations = operations
        self._fd = _NOT_OPEN

    def take(self) -> str | None:
        """Take it, and return None; or which process has it. Raises OSError."""
        self._fd = self._operations.open_file(self._path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.pread(self._fd, 20, 0).decode("ascii", "replace").strip() or "(unknown)"
        self._operations.ftruncate(self._fd, 0)
        self._operations.write_at(self._fd, f"{os.getpid()}\n".encode(), 0)
        return None

    def release(self) -> None:
        """Let go of it, if it was taken.

        It would stay with a child that was forked meanwhile and has the descriptor too, were the file only closed.
        """
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = _NOT_OPEN

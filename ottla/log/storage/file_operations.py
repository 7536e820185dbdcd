"""All changes of the data directory go through this class.

    operations.write_at(fd, data, position)     what storage asks for
        └─ operations.pwrite(…)                 what the system is asked for: one attribute for each call

No other module of storage writes, flushes, renames or removes, and a test sees to that. So a test that puts functions
of its own in the place of those attributes sees all that becomes of the directory, in order: the crash simulator does
so, and tests of disks that fail. Otherwise they are the system's own functions, so this costs nothing. Reading goes
past it.

New files get `file_mode` and directories `directory_mode`, less the process's umask. `share_as` gives both the access
rights of a directory that existed before.

`write_file` puts a small file in place whole or not at all: written beside it, flushed, renamed. Kafka: Utils.
atomicMoveWithFallback, CheckpointFile.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from typing import Final

from ottla.protocol.primitives import Buffer

#: What is written beside a file before it takes that file's place.
TEMPORARY_SUFFIX: Final = ".tmp"

_OWNERS: Final = 0o700
_NOT_EXECUTABLE: Final = 0o666


class FileOperations:
    """The system's operations on files, and what storage makes of them. All raise OSError."""

    def __init__(self) -> None:
        self.open = os.open
        self.pwrite = os.pwrite
        self.ftruncate = os.ftruncate
        self.truncate = os.truncate
        self.fsync: Callable[[int], None] = os.fsync
        self.fdatasync: Callable[[int], None] = os.fdatasync
        self.rename = os.rename
        self.unlink = os.unlink
        self.mkdir = os.mkdir
        self.rmtree: Callable[[str], None] = shutil.rmtree
        self.file_mode = _OWNERS & _NOT_EXECUTABLE
        self.directory_mode = _OWNERS

    def share_as(self, directory: str) -> None:
        """Give new files and directories the access rights of that directory."""
        self.directory_mode = _OWNERS | stat.S_IMODE(os.stat(directory).st_mode) & 0o777
        self.file_mode = self.directory_mode & _NOT_EXECUTABLE

    # Files

    def open_file(self, path: str, flags: int, directory: int | None = None) -> int:
        """A descriptor of the file, which is made with `os.O_CREAT`. `directory`: an open one from where it is seen."""
        return self.open(path, flags | os.O_CLOEXEC, self.file_mode, dir_fd=directory)

    def write_at(self, fd: int, data: Buffer, position: int) -> None:
        """Write all of `data`. If that fails, what got there of it is cut off again."""
        written = self.pwrite(fd, data, position)
        if written == len(data):
            return
        try:
            with memoryview(data) as view:
                while written < len(view):
                    written += self.pwrite(fd, view[written:], position + written)
        except OSError:
            self.ftruncate(fd, position)
            raise

    def write_over(self, path: str, data: bytes) -> None:
        """Put `data` over what `path` holds, which must not be longer. Survives the process.

        A hundredth of what `write_file` costs, and for what can be had otherwise if the machine goes down meanwhile.
        """
        fd = self.open_file(path, os.O_WRONLY | os.O_CREAT)
        try:
            self.write_at(fd, data, 0)
        finally:
            os.close(fd)

    def write_tail(self, path: str, data: bytes, position: int) -> None:
        """Have the file end with `data` at `position`. Survives the process."""
        fd = self.open_file(path, os.O_WRONLY | os.O_CREAT)
        try:
            self.ftruncate(fd, position)
            self.write_at(fd, data, position)
        finally:
            os.close(fd)

    def write_file(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Put `data` in the place of what `path` holds, whole or not at all.

        `sync`: it would survive the machine when this returns; without, the process alone.
        """
        temporary = path + TEMPORARY_SUFFIX
        fd = self.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self.write_at(fd, data, 0)
            if sync:
                self.fsync(fd)
        finally:
            os.close(fd)
        self.rename(temporary, path)
        if sync:
            self.sync_directory(os.path.dirname(path))

    def sync_file(self, path: str, directory: int | None = None) -> None:
        """What was written to a file would survive the machine. One that has gone needs nothing.

        `directory`: an open one from where `path` is seen.
        """
        try:
            fd = self.open_file(path, os.O_RDONLY, directory)
        except FileNotFoundError:
            return
        try:
            self.fsync(fd)
        finally:
            os.close(fd)

    # Directories

    def open_directory(self, path: str) -> int:
        """A descriptor of a directory."""
        return self.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def make_directory(self, path: str) -> bool:
        """Have a directory there, in one that is; returns whether it had to be made."""
        try:
            self.mkdir(path, self.directory_mode)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
            return False
        return True

    def make_directories(self, path: str) -> bool:
        """Have a directory there, and those it is in, so that they would survive the machine; returns whether it had
        to be made."""
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            self.make_directories(parent)
        is_new = self.make_directory(path)
        if is_new:
            self.sync_directory(parent)
        return is_new

    def sync_directory(self, path: str) -> None:
        """What was made, renamed and removed in a directory would survive the machine."""
        fd = self.open_directory(path)
        try:
            self.fsync(fd)
        finally:
            os.close(fd)

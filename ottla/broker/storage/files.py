"""Files as the logs use them: few open at a time, errors with a name, and small ones that are never half written.

`OpenFiles` bounds how many segment files are open, however many logs there are. A file is opened when it is needed and
closed when its place is: those that were used since they were last looked at stay, the others go, oldest first (the
clock algorithm, which costs the hot path one assignment). When the machine has no descriptor left, half of them are
let go before anybody is refused.

`write_file` puts a small file in place whole or not at all: written beside it, flushed, renamed. Kafka: Utils.
atomicMoveWithFallback, CheckpointFile.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar

from ottla.protocol.varint import Buffer

T = TypeVar("T")

_FILE_MODE: Final = 0o644
_TOO_MANY_OPEN: Final = (errno.EMFILE, errno.ENFILE)
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: What is written beside a file before it takes that file's place.
TEMPORARY_SUFFIX: Final = ".tmp"


class Openable(Protocol):
    """Something with a file that can be closed and opened again at any time."""

    #: Its descriptor; -1 while it is closed.
    fd: int
    #: Whether it was used since it was last looked at.
    was_used: bool

    def let_go(self) -> None:
        """Close the file, and keep nothing that can be had again from it."""


class OpenFiles:
    """The files that are open, no more than `files_max`, in the order in which they are looked at."""

    __slots__ = ("_open", "files_max")

    def __init__(self, files_max: int) -> None:
        self.files_max = files_max
        self._open: deque[Openable] = deque()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, owner: Openable, path: str, flags: int) -> int:
        """Open the file of `owner` and return its descriptor. Raises OSError."""
        if len(self._open) >= self.files_max:
            self._make_room(self.files_max - 1)
        owner.fd = self.with_room(lambda: os.open(path, flags | os.O_CLOEXEC, _FILE_MODE))
        owner.was_used = True
        self._open.append(owner)
        return owner.fd

    def with_room(self, action: Callable[[], T]) -> T:
        """Do what opens files; if the system has no descriptor left, do without every other one of ours first."""
        try:
            return action()
        except OSError as error:
            if not is_short_of_descriptors(error):
                raise
        self._make_room(len(self._open) // 2)
        return action()

    def _make_room(self, files_max: int) -> None:
        """Let go until so many are left: what was used gets a second chance, once."""
        second_chances = len(self._open)
        while len(self._open) > files_max:
            owner = self._open.popleft()
            if owner.fd < 0:
                continue
            if owner.was_used and second_chances:
                second_chances -= 1
                owner.was_used = False
                self._open.append(owner)
            else:
                owner.let_go()


def is_short_of_descriptors(error: Exception) -> bool:
    """Whether it says that too many files are open: nothing is wrong then that time would not heal."""
    return isinstance(error, OSError) and error.errno in _TOO_MANY_OPEN


def close_file(owner: Openable) -> None:
    """Close the descriptor of an `Openable`; for `let_go`."""
    if owner.fd >= 0:
        with suppress(OSError):  # what it had to say it has said when it was written or flushed
            os.close(owner.fd)
        owner.fd = -1


def write_at(fd: int, data: Buffer, position: int) -> None:
    """Write all of `data`. If that fails, what got there of it is cut off again, and OSError is raised."""
    written = os.pwrite(fd, data, position)
    if written == len(data):
        return
    try:
        with memoryview(data) as view:
            while written < len(view):
                written += os.pwrite(fd, view[written:], position + written)
    except OSError:
        os.ftruncate(fd, position)
        raise


def write_over(path: str, data: bytes) -> None:
    """Put `data` over what `path` holds, which must not be longer. Survives the process. Raises OSError.

    A hundredth of what `write_file` costs, and for what can be had otherwise if the machine goes down meanwhile.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        write_at(fd, data, 0)
    finally:
        os.close(fd)


def write_tail(path: str, data: bytes, position: int) -> None:
    """Have the file end with `data` at `position`. Survives the process. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        os.ftruncate(fd, position)
        write_at(fd, data, position)
    finally:
        os.close(fd)


def write_file(path: str, data: bytes, *, sync: bool = True) -> None:
    """Put `data` in the place of what `path` holds, whole or not at all. Raises OSError.

    `sync`: it would survive the machine when this returns; without, the process alone.
    """
    temporary = path + TEMPORARY_SUFFIX
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _FILE_MODE)
    try:
        write_at(fd, data, 0)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    if sync:
        sync_directory(os.path.dirname(path))


def read_file(path: str) -> bytes | None:
    """All of a small file; None if there is none. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def open_directory(path: str) -> int:
    """A directory that stays the same one whatever becomes of its name. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def sync_directory(path: str) -> None:
    """What was made, renamed and removed in a directory would survive the machine."""
    fd = open_directory(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path: str, directory: int | None = None) -> None:
    """What was written to a file would survive the machine. One that has gone needs nothing. Raises OSError.

    `directory`: an open one from where `path` is seen.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    except FileNotFoundError:
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def describe(error: Exception) -> str:
    """What the system said, and what to do where there is something to be done."""
    if not isinstance(error, OSError):
        return f"{type(error).__name__}: {error}"
    reason = error.strerror or str(error)
    if error.errno in _NO_ROOM:
        return f"{reason}: make room, or lower retention.ms or retention.bytes of your topics, and start again"
    if error.errno in _TOO_MANY_OPEN:
        return f"{reason}: raise the limit, see ulimit -n"
    if error.errno == errno.EROFS:
        return f"{reason}: mount it for writing and start again"
    return reason

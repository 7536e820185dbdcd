"""Files as the logs use them: few open at a time, and errors with a name.

`OpenFiles` bounds how many segment files are open, however many logs there are. A file is opened when it is needed and
closed when its place is: those that were used since they were last looked at stay, the others go, oldest first (the
clock algorithm, which costs the hot path one assignment). When the machine has no descriptor left, half of them are
let go before a request is refused.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from ottla.log.storage.file_operations import FileOperations

T = TypeVar("T")

_TOO_MANY_OPEN: Final = (errno.EMFILE, errno.ENFILE)
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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

    __slots__ = ("_open", "files_max", "operations")

    def __init__(self, files_max: int, operations: FileOperations) -> None:
        self.files_max = files_max
        self.operations = operations
        self._open: deque[Openable] = deque()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, owner: Openable, path: str, flags: int) -> int:
        """Open the file of `owner` and return its descriptor. Raises OSError."""
        if len(self._open) >= self.files_max:
            self._make_room(self.files_max - 1)
        owner.fd = self.with_room(lambda: self.operations.open_file(path, flags))
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


def read_file(path: str) -> bytes | None:
    """All of a small file; None if there is none. Raises OSError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


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

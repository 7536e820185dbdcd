"""Runs a Python program whose disk fails when it is told to.

    python -m tests.soak.failing_disk FILE PROGRAM ARGUMENT…

As long as FILE is there it says what fails: `ENOSPC orders 3` has the next three writes and flushes of files with
`orders` in their path fail with ENOSPC. When they have, FILE is removed. Whoever writes it moves it there whole.
"""

from __future__ import annotations

import errno
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

#: What of `os` may fail, the descriptor being the first argument.
FAILING: Final = ("pwrite", "fsync", "fdatasync")


class FailingDisk:
    """What the file says, and how much of it is done."""

    def __init__(self, told_by: str) -> None:
        self._told_by = told_by
        self._failures = 0

    def failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, as long as nothing is to fail."""

        def call(fd: int, *arguments: Any) -> Any:
            if os.path.exists(self._told_by):
                self._fail_if_told(fd)
            return function(fd, *arguments)

        return call

    def _fail_if_told(self, fd: int) -> None:
        name, word, times = Path(self._told_by).read_text().split()
        if word not in os.readlink(f"/proc/self/fd/{fd}"):
            return
        self._failures += 1
        if self._failures == int(times):
            self._failures = 0
            with suppress(FileNotFoundError):  # the disk's own thread was as quick
                os.unlink(self._told_by)
        code = getattr(errno, name)
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    disk = FailingDisk(sys.argv[1])
    for name in FAILING:
        setattr(os, name, disk.failing(getattr(os, name)))
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")

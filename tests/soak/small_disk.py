"""A disk of a few megabytes, which can be made read-only: a tmpfs that only some processes see, so that nobody needs to
be root, and who is root is refused like anybody else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """It is at `path` for commands that begin with `within`."""

    def __init__(self, path: Path, within: Sequence[str]) -> None:
        self.path = path
        self.within = within

    def run(self, *command: str | Path) -> None:
        """Do something on it. Raises CalledProcessError."""
        subprocess.run([*self.within, *command], check=True, capture_output=True)


@contextmanager
def small_disk(path: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """A disk at `path`, which is an empty directory; the test is skipped where that can't be had."""
    path.mkdir()
    mount = f"mount -t tmpfs -o size={size_bytes} none {path} && echo ready && exec cat"
    try:
        keeper = subprocess.Popen(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", mount],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    with keeper:
        assert keeper.stdout is not None
        if not keeper.stdout.readline():
            pytest.skip("nothing can be mounted here")
        names = ("nsenter", f"--target={keeper.pid}", "--user", "--mount", "--preserve-credentials")
        yield SmallDisk(path, names)
        keeper.kill()

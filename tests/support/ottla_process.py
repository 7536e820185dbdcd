"""Ottla as users start it: its own process, on a port it picks, ready when it says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.patience import PATIENCE_SECONDS


@dataclass(frozen=True)
class OttlaProcess:
    """A running Ottla."""

    bootstrap: str
    process: subprocess.Popen[str]

    @property
    def pid(self) -> int:
        return self.process.pid


@contextmanager
def ottla(
    settings: Mapping[str, str] | None = None, *arguments: str, within: Sequence[str] = ()
) -> Iterator[OttlaProcess]:
    """`ottla serve` for the length of the `with`, on a free port if `arguments` name none; its log goes to our stderr.

    `within`: a command that becomes the one behind it, such as `prlimit`.
    """
    command: list[str | Path] = [
        *within,
        Path(sys.executable).with_name("ottla"),
        "serve",
        *(() if "--listen" in arguments else ("--listen", "127.0.0.1:0")),
        *arguments,
    ]
    for name, value in (settings or {}).items():
        command += ["--set", f"{name}={value}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        ready = process.stdout.readline()
        assert ready.startswith("ottla ready "), f"ottla did not start; it said {ready!r}, and the rest on stderr"
        words = dict(word.split("=", 1) for word in ready.split()[2:])
        yield OttlaProcess(words["bootstrap"], process)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

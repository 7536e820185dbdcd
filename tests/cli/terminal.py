"""Ottla as somebody at a terminal has it: commands that run to their end, and brokers that serve while a test looks on.

    ended = ottla("topics", "--bootstrap-server", "127.0.0.1:9092")
    assert ended.returncode == 0

    with serving("--nodes", "3") as broker:
        broker.ready["bootstrap"]

Nothing waits longer than `PATIENCE_SECONDS`, and nothing waits for a while: always for a condition.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from tests.support.patience import PATIENCE_SECONDS

PROGRAM: Final = Path(sys.executable).with_name("ottla")


def ottla(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. `options` are those of `subprocess.run`."""
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, **options
    )


def only_line(text: str) -> str:
    """The one line that was said."""
    lines = text.splitlines()
    assert len(lines) == 1, f"one line was expected, not {text!r}"
    return lines[0]


class Serving:
    """A broker that has said it is ready."""

    def __init__(self, process: subprocess.Popen[str], stderr: IO[str], ready_line: str) -> None:
        self.process = process
        self.ready_line = ready_line
        #: What the ready line says, by name.
        self.ready = dict(word.split("=", 1) for word in ready_line.split()[2:])
        self._stderr = stderr

    @property
    def bootstrap(self) -> str:
        return self.ready["bootstrap"]

    @property
    def control(self) -> str:
        """HOST:PORT of the control API."""
        return self.ready["control"].removeprefix("http://")

    def stderr(self) -> str:
        """All it has said on stderr so far."""
        self._stderr.seek(0)
        return self._stderr.read()

    def logged(self) -> list[dict[str, Any]]:
        """The events it has logged so far."""
        return [json.loads(line) for line in self.stderr().splitlines()]

    def until_logged(self, event: str) -> None:
        """Return when this event has been logged."""
        until(lambda: event in self.stderr(), f"{event} is logged")

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


def until(condition: Callable[[], bool], what: str) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS} s in vain until {what}"
        time.sleep(0.005)


@contextmanager
def serving(*arguments: str, listen: str | None = "127.0.0.1:0", **options: Any) -> Iterator[Serving]:
    """`ottla serve` with these arguments. `listen=None`: they say where. `options` are those of `subprocess.Popen`."""
    command = [str(PROGRAM), "serve", *(["--listen", listen] if listen else []), "--log-format", "json", *arguments]
    with tempfile.TemporaryFile("w+") as stderr:
        options = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True, **options}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        try:
            yield Serving(process, stderr, _ready_line(process, stderr))
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _ready_line(process: subprocess.Popen[str], stderr: IO[str]) -> str:
    if process.stdout is None:
        return ""
    readable, _, _ = select.select([process.stdout], [], [], PATIENCE_SECONDS)
    line = process.stdout.readline() if readable else ""
    if not line.startswith("ottla ready "):
        stderr.seek(0)
        raise AssertionError(f"the broker did not get ready; stdout: {line!r}, stderr: {stderr.read()}")
    return line.rstrip("\n")

"""A running peer, and what the kernel knows about its process.

CPU time comes from /proc/PID/stat, in ticks of 10 ms over all threads, so a figure per request wants a run of a second
or more. Wake-ups are the voluntary context switches of all threads: a process that sleeps has none.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.protocol.messages.api_versions import ApiVersionsRequest
from tests.support.client import Client
from tests.support.wire import ConnectionClosedError, SilenceError

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_ANSWER_SECONDS_MAX: Final = 60.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A peer that runs. Without a process of ours (`pid` None) there is nothing to say about CPU and memory."""

    peer: str
    bootstrap: str
    pid: int | None = None
    #: `time.perf_counter()` when the process was started.
    spawned_at: float = 0.0

    @property
    def is_echo(self) -> bool:
        """An echo sends back what it was taught, and knows no request."""
        return self.peer == "echo"

    def cpu_seconds(self) -> float:
        """User and system time of the process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def wake_ups(self) -> int:
        """How often any of its threads has gone to sleep and been woken so far."""
        return sum(
            int(line.split()[1])
            for status in Path(f"/proc/{self.pid}/task").glob("*/status")
            for line in status.read_text().splitlines()
            if line.startswith("voluntary_ctxt_switches")
        )


class UnableError(Exception):
    """This peer cannot do what the figure measures; the text says why."""


@contextmanager
def process(peer: str, command: Sequence[str | Path]) -> Iterator[Broker]:
    """Start a peer that says `bootstrap=HOST:PORT` in a line on stdout when it listens; stop it at the end."""
    with tempfile.TemporaryFile("w+") as log:
        spawned_at = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert child.stdout is not None
        try:
            ready = next((line for line in child.stdout if "bootstrap=" in line), None)
            if ready is None:
                log.seek(0)
                raise RuntimeError(f"{peer} did not start; it said:\n{log.read()}")
            bootstrap = ready.partition("bootstrap=")[2].split()[0]
            yield Broker(peer, bootstrap, child.pid, spawned_at)
        finally:
            child.terminate()
            child.wait()
            child.stdout.close()


def until_answering(broker: Broker) -> None:
    """Return with the first answer to ApiVersions; a broker that is not there yet is asked again each millisecond."""
    deadline = time.monotonic() + _ANSWER_SECONDS_MAX
    while True:
        try:
            with Client(broker.bootstrap) as client:
                client.ask(ApiVersionsRequest(), 0)
                return
        except (OSError, ConnectionClosedError, SilenceError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)

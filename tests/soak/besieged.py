"""A broker of three nodes on disk, as a process that is ended in all ways and comes back at the same addresses.

    with Besieged(path, settings) as broker:
        broker.restart(hard=True)                          # kill -9
        broker.lose_power(random, meanwhile)               # its machine goes down, and finds what it may find
        broker.fail_disk("EIO", "orders", times=1)         # the next write or flush of such a file
        broker.stop_node(2)
    broker.cut_off("EndTxn", "answer")                 # a client loses its connection, and what it was told
        broker.check_log()                                 # it has said nothing that it must not

What it warns of is kept, and what is an error must have been announced (`may_say`).
"""

from __future__ import annotations

import json
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random, sample
from typing import Any, Final, Self

from tests.log.storage.crash.power_loss import FileSystem, Machine
from tests.log.storage.crash.recording import Recorded
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import PORTS

NODES: Final = 3
#: Nobody may happen to write there.
_FAILURE_SECONDS_MAX: Final = 1.0
_HIT_MS_MAX: Final = 45_000
#: What may always be warned of: an index that was not complete yet when the broker was killed; and, for it may come a
#: little late, what clients have sent, and a node that died.
_HARMLESS: Final = frozenset(
    (
        "index.rebuilt",
        "connection.refused",
        "group.rebalance.stuck",
        "node.missed",
        "request.refused",
        "topic.autocreation.refused",
    )
)


class Besieged:
    """The broker; as a context manager it is there from its beginning to its end, but for moments."""

    def __init__(self, path: Path, settings: Mapping[str, str]) -> None:
        self._disk = path / "disk"
        self._disk.mkdir()
        self._record = path / "record"
        data_dir = self._disk / "data"
        first, self._control = _neighbouring_ports()
        self.bootstrap = ",".join(f"127.0.0.1:{first + number}" for number in range(NODES))
        self._said = path / "said"
        self._failing = path / "failing"
        self._command: list[str | Path] = [
            *(Path(sys.executable).with_name("ottla"), "serve"),
            *("--listen", f"127.0.0.1:{first}", "--nodes", str(NODES), "--data-dir", data_dir),
            *("--control", f"127.0.0.1:{self._control}", "--log-level", "warning", "--log-format", "json"),
        ]
        for name, value in settings.items():
            self._command += ["--set", f"{name}={value}"]
        self._process: subprocess.Popen[str]
        self._said_bytes = 0
        self._may_say: set[str] = set()
        self.nodes_down: set[int] = set()

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def _start(self, *, is_recorded: bool = False) -> None:
        """`is_recorded`: what it does to the disk is written down, instead of failing when it is told to."""
        within: tuple[str | Path, ...] = ("tests.soak.failing_disk", self._failing)
        if is_recorded:
            within = ("tests.soak.recorded_disk", self._record, self._disk)
        command = [sys.executable, "-m", *within, *self._command]
        with self._said.open("a") as said:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
        assert self._process.stdout is not None
        with self._process.stdout as stdout:
            assert stdout.readline().startswith("ottla ready "), f"it did not start: {self._said.read_text()}"
        self.nodes_down = set()

    def restart(self, *, hard: bool) -> None:
        """End it, by kill -9 or in an orderly way, and start it again."""
        self._end(hard=hard)
        self._start()

    def lose_power(self, random: Random, meanwhile: Callable[[], None]) -> None:
        """Have its machine go down after `meanwhile`, and start on what that may find on its disk then.

        Before, it is stopped in an orderly way: what had been asked of it by then is on the disk.
        """
        self._end(hard=False)
        self._start(is_recorded=True)
        meanwhile()
        self._process.send_signal(signal.SIGUSR1)
        assert self._process.wait(PATIENCE_SECONDS) == 0
        recorded: Recorded = pickle.loads(self._record.read_bytes())
        machine = Machine(recorded, random.choice(list(FileSystem)))
        machine.run(len(recorded.done))
        shutil.rmtree(self._disk)
        self._disk.mkdir()
        machine.lose_power(random, self._disk)
        self._start()

    def _end(self, *, hard: bool) -> None:
        if hard:
            self._process.kill()
            self._process.wait()
        else:
            self._process.terminate()
            assert self._process.wait(PATIENCE_SECONDS) == 0
        self._failing.unlink(missing_ok=True)

    def fail_disk(self, error: str, word: str, times: int = 1, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Have the next writes and flushes of files with `word` in their path fail, and wait a little until they have.

        `meanwhile`: what would write there, if nobody does it anyway.
        """
        told = self._failing.with_suffix(".new")
        told.write_text(f"{error} {word} {times}")
        told.rename(self._failing)
        meanwhile()
        deadline = time.monotonic() + _FAILURE_SECONDS_MAX
        while self._failing.exists() and time.monotonic() < deadline:
            self._check_running()
            time.sleep(0.005)

    def stop_node(self, node_id: int) -> None:
        """As if its machine died."""
        self._ask("/nodes/stop", {"node_id": node_id, "hard": True})
        self.nodes_down.add(node_id)

    def start_node(self, node_id: int) -> None:
        self._ask("/nodes/start", {"node_id": node_id})
        self.nodes_down.discard(node_id)

    def cut_off(self, api: str, at: str) -> None:
        """Break off the connection of whoever sends the next such request: before it has any effect ("request"), before
        its answer leaves ("answer") or behind that ("end"). Returns when it is done."""
        fault = self._ask("/faults", {"api": api, "cut": {"at": at, "reset": True}, "times": 1})
        self._ask("/faults/wait", {"fault_id": fault["fault_id"], "count": 1, "timeout_ms": _HIT_MS_MAX})

    def _ask(self, path: str, wish: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._control}{path}",
            json.dumps(wish).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 200
            return json.load(answer)

    def may_say(self, *events: str) -> None:
        """This round the log may have these."""
        self._may_say |= set(events)

    def check_log(self) -> None:
        """It runs, and has said nothing since the last time but what is harmless or was announced."""
        self._check_running()
        data = self._said.read_bytes()
        fresh = data[self._said_bytes : data.rfind(b"\n") + 1]
        self._said_bytes += len(fresh)
        lines = fresh.decode().splitlines()
        unheard = [line for line in lines if _event(line) not in self._may_say | _HARMLESS]
        assert not unheard, "\n".join(unheard)
        self._may_say.clear()

    def _check_running(self) -> None:
        assert self._process.poll() is None, f"it ended with {self._process.returncode}: {self._said.read_text()}"


def _event(line: str) -> str:
    """What a line of the log tells; of one that is none, the line."""
    try:
        return str(json.loads(line)["event"])
    except (ValueError, KeyError):
        return line


def _neighbouring_ports() -> tuple[int, int]:
    """The first of as many ports as there are nodes, and one more; all free at this moment."""
    for first in sample(PORTS[: -NODES - 1], k=100):
        if all(map(_is_free, range(first, first + NODES + 1))):
            return first, first + NODES
    raise OSError("no neighbouring ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

"""The worst that one client's request does to another, for each API: see `bench.attacks`.

A bystander beats its heart all the time; the attack's frames go out, each on its own connection, and their answers are
read. The longest the bystander waited meanwhile is one figure; the other is the most memory the broker had, less what
it had before, less the frames themselves and the records that it is to keep. Each attack has a broker of its own, which
has been asked for that API before: with the first request its code is loaded, once. For Ottla alone.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from bench.attacks import Attack, all_attacks
from bench.broker import Broker, UnableError
from bench.bystander import Bystander
from bench.figures.figure import Figure, Row, Values
from bench.peers.ottla import serving
from bench.transaction_attacks import transaction_attacks
from tests.support.client import Client
from tests.support.wire import Connection, ConnectionClosedError, SilenceError

SECONDS_MAX = 120.0
MIB = 1024 * 1024
#: How long nothing is asked of answers that nobody reads.
_UNREAD_SECONDS = 2.0
#: Between two looks at whether what was begun is over.
_PAUSE_SECONDS = 0.2

_ALL = [*all_attacks(), *transaction_attacks()]
ATTACKS = [attack for attack in _ALL if os.environ.get("WORST", "") in attack.name]


def wait_row(attack: Attack) -> Row:
    return Row(f"{attack.name}: another waits, ms", digits=1, smaller_is_better=True, goal="≤ 50")


def memory_row(attack: Attack) -> Row:
    return Row(f"{attack.name}: memory, MiB", digits=0, smaller_is_better=True, goal="≤ 64")


def measure(broker: Broker, seconds: float) -> Values:
    if broker.peer != "ottla":
        raise UnableError("it is Ottla's own")
    values: dict[str, float] = {}
    for attack in ATTACKS:
        begin = time.perf_counter()
        wait_ms, memory_mib, outcome = suffer(attack)
        values[wait_row(attack).title] = wait_ms
        values[memory_row(attack).title] = memory_mib
        took = time.perf_counter() - begin
        print(f"bench: {attack.name}: {wait_ms:.1f} ms, {memory_mib:.0f} MiB, {outcome}; {took:.1f} s", file=sys.stderr)
    return values


def suffer(attack: Attack) -> tuple[float, float, str]:
    """(longest wait in ms, MiB over the frames, how it ended)."""
    with serving("ottla", "--log-level", "error") as broker:
        with Client(broker.bootstrap, timeout_seconds=SECONDS_MAX) as client:
            attack.prepare(client)
        frames = attack.frames()
        _have_code_loaded(broker, {frame[4:8] for frame in frames})
        with Bystander(broker) as bystander, ExitStack() as wires:
            time.sleep(0.1)
            before = _begin_to_watch(broker)
            bystander.longest_wait_ms()
            begin = time.perf_counter()
            connections = [
                wires.enter_context(Connection(broker.bootstrap, timeout_seconds=SECONDS_MAX)) for _ in frames
            ]
            answers = _attack(attack, connections, frames, broker)
            took = time.perf_counter() - begin
            wait_ms = bystander.longest_wait_ms()
            peak = _peak_bytes(broker)
    sent = sum(map(len, frames))
    return (
        wait_ms,
        max(0.0, peak - before - sent - attack.kept_bytes) / MIB,
        f"{answers} after {took:.2f} s for {sent / 1e6:.2f} MB",
    )


def _have_code_loaded(broker: Broker, keys_and_versions: Iterable[bytes]) -> None:
    """Ask for each of these, without a body: it is answered or closes the connection."""
    for key_and_version in keys_and_versions:
        with Connection(broker.bootstrap, timeout_seconds=SECONDS_MAX) as connection:
            frame = key_and_version + struct.pack(">ih", 7, -1)
            connection.send(struct.pack(">i", len(frame)) + frame)
            with suppress(ConnectionClosedError, SilenceError):
                connection.receive_frame(timeout_seconds=1)


def _attack(attack: Attack, connections: Sequence[Connection], frames: Sequence[bytes], broker: Broker) -> str:
    for connection, frame in zip(connections, frames, strict=True):
        if attack.reads:
            _send(connection, frame)
        else:
            _send_what_is_taken(connection._socket, frame)
    if not attack.reads:
        time.sleep(_UNREAD_SECONDS)
        return "unread"
    if attack.then():
        time.sleep(0.5)
        with Connection(broker.bootstrap, timeout_seconds=SECONDS_MAX) as other:
            for frame in attack.then():
                other.send(frame)
                other.receive_frame(timeout_seconds=SECONDS_MAX)
    outcome = ", ".join(sorted({_answer(connection) for connection in connections}))
    with Client(broker.bootstrap, timeout_seconds=SECONDS_MAX) as other:
        while not attack.until(other):
            time.sleep(_PAUSE_SECONDS)
    return outcome


def _send(connection: Connection, frame: bytes) -> None:
    with suppress(ConnectionClosedError, OSError):
        connection.send(frame)


def _send_what_is_taken(own: socket.socket, frame: bytes) -> None:
    view = memoryview(frame)
    own.settimeout(0.2)
    try:
        while view:
            view = view[own.send(view[:65_536]) :]
    except OSError:
        pass


def _answer(connection: Connection) -> str:
    """Read it without keeping it: what an attacker keeps is not the broker's."""
    own = connection._socket
    own.settimeout(SECONDS_MAX)
    try:
        head = own.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return "closed"
        (left,) = size = struct.unpack(">i", head)
        while left > 0:
            left -= len(own.recv(min(left, MIB)))
    except ConnectionError:
        return "closed"
    return f"answered with {size[0]:,} bytes"


def _begin_to_watch(broker: Broker) -> int:
    with suppress(OSError):
        Path(f"/proc/{broker.pid}/clear_refs").write_text("5")
    return broker.resident_bytes()


def _peak_bytes(broker: Broker) -> int:
    status = Path(f"/proc/{broker.pid}/status").read_text().splitlines()
    (line,) = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


FIGURE = Figure("worst", [row for attack in ATTACKS for row in (wait_row(attack), memory_row(attack))], measure)

"""A client in a process of its own whose group's member beats its heart all the time, and notes how long it waits.

It starts no process group of threads and shares no interpreter with the attacker, so what it waits for is the broker
and the machine. What either process has waited for a processor meanwhile is taken off, where the kernel says it: on a
machine that does other things too, that is what most of a long wait would be.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.broker import Broker
from bench.frames import answer_frame, request_frame
from bench.members import fresh_name, stable_members
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.support.wire import Connection as Wire

VERSION: Final = 3
_PAUSE_SECONDS: Final = 0.001
_PATIENCE_SECONDS: Final = 600.0


class Bystander:
    """`longest_wait_ms` since it was last asked."""

    def __init__(self, broker: Broker) -> None:
        group = fresh_name("bystander")
        ((member_id, generation_id),) = stable_members(broker, [group])
        frame = request_frame(HeartbeatRequest(group, generation_id, member_id), VERSION)
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("fork").Process(
            target=_beat, args=(broker, frame, theirs), daemon=True
        )
        self._process.start()
        self.longest_wait_ms()

    def longest_wait_ms(self) -> float:
        self._pipe.send(None)
        longest: float = self._pipe.recv()
        return longest * 1e3

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.join()


def _beat(broker: Broker, frame: bytes, pipe: Connection) -> None:
    expected = answer_frame(HeartbeatResponse(error_code=0), VERSION)[4:]
    longest = 0.0
    with Wire(broker.bootstrap, timeout_seconds=_PATIENCE_SECONDS) as wire:
        while True:
            held_up = _seconds_without_processor(broker.pid)
            begin = time.perf_counter()
            wire.send(frame)
            answer = wire.receive_frame(timeout_seconds=_PATIENCE_SECONDS)
            waited = time.perf_counter() - begin
            longest = max(longest, waited - (_seconds_without_processor(broker.pid) - held_up))
            assert answer == expected, answer
            if pipe.poll(_PAUSE_SECONDS):
                pipe.recv()
                pipe.send(longest)
                longest = 0.0


def _seconds_without_processor(pid: int | None) -> float:
    """How long this process and the broker's main thread, together, were ready to run and did not, so far."""
    total_ns = 0
    for process in ("self", pid):
        try:
            total_ns += int(Path(f"/proc/{process}/schedstat").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return total_ns / 1e9

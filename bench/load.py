"""Connections that keep requests in flight, and count the answers.

The generator must cost little beside the broker, so it encodes nothing while it runs, and it does not wake up for every
answer: the kernel lets it sleep until half a window of answers has come (SO_RCVLOWAT), and it sends as many ready-made
frames in one write. So between half a window and a whole one is in flight at any time, with every peer alike. Answers
that must be equal are compared in one piece with what was read; those that differ in size are counted by their sizes.
"""

from __future__ import annotations

import itertools
import resource
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.broker import Broker
from bench.frames import teaching_frame

_READ_BYTES_MAX: Final = 1 << 20
_SEND_BUFFER_BYTES: Final = 4 << 20
_SILENCE_SECONDS_MAX: Final = 10.0
_size_at = struct.Struct(">i").unpack_from


class WrongAnswerError(Exception):
    """An answer was not the expected one, or none came."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What one connection sends, around and around, and the answer to each.

    `is_exact` means that every answer has just these bytes; else they are an example (which the echo sends back), of
    the right size unless `is_sized` is False too.
    """

    frames: Sequence[bytes]
    answer: bytes
    is_exact: bool = True
    is_sized: bool = True


@dataclass(frozen=True, slots=True)
class Load:
    """What a run came to."""

    requests: int
    bytes_received: int
    seconds: float
    broker_cpu_seconds: float | None
    own_cpu_seconds: float

    @property
    def requests_per_second(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_us_per_request(self) -> float | None:
        return None if self.broker_cpu_seconds is None else self.broker_cpu_seconds * 1e6 / self.requests


def run_load(
    broker: Broker,
    streams: Sequence[Stream],
    *,
    in_flight: int,
    seconds: float | None = None,
    requests: int | None = None,
) -> Load:
    """Run one connection per stream for a time, or until each has its share of so many requests answered."""
    share = None if requests is None else requests // len(streams)
    windows = [Window(broker, stream, in_flight, share) for stream in streams]
    by_descriptor = {window.socket.fileno(): window for window in windows}
    poller = select.epoll()
    for descriptor in by_descriptor:
        poller.register(descriptor, select.EPOLLIN)
    try:
        cpu = None if broker.pid is None else broker.cpu_seconds()
        own = _own_cpu_seconds()
        started = time.perf_counter()
        end = started + (seconds or float("inf"))
        for window in windows:
            window.start()
        running = len(windows)
        while running and time.perf_counter() < end:
            ready = poller.poll(_SILENCE_SECONDS_MAX if seconds is None else min(seconds, _SILENCE_SECONDS_MAX))
            if not ready and seconds is None:
                raise WrongAnswerError(f"nothing came for {_SILENCE_SECONDS_MAX:.0f} s")
            for descriptor, _ in ready:
                running -= by_descriptor[descriptor].receive()
        return Load(
            requests=sum(window.answered for window in windows),
            bytes_received=sum(window.bytes_received for window in windows),
            seconds=time.perf_counter() - started,
            broker_cpu_seconds=None if cpu is None else broker.cpu_seconds() - cpu,
            own_cpu_seconds=_own_cpu_seconds() - own,
        )
    finally:
        poller.close()
        for window in windows:
            window.socket.close()


class Window:
    """One connection with so many requests in flight, for ever or until it has `answers_max` answers."""

    _buffer = bytearray(_READ_BYTES_MAX)  # one for all: what is read is looked at before anything else is

    def __init__(self, broker: Broker, stream: Stream, in_flight: int, answers_max: int | None) -> None:
        host, _, port = broker.bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        if broker.is_echo:
            self.socket.sendall(teaching_frame(stream.answer))
        self.answered = 0
        self.bytes_received = 0
        self._in_flight = in_flight
        self._left = answers_max
        self._answers_max = answers_max
        self._answer_bytes = len(stream.answer)
        self._is_sized = stream.is_sized
        self._expected = b""
        if stream.is_exact:
            self._expected = stream.answer * (_READ_BYTES_MAX // self._answer_bytes + 2)
        self._phase = 0  # bytes of the current answer that have come
        self._missing = 0  # bytes of the current answer that have not, where sizes differ
        self._head = b""  # the beginning of its size
        self._single = stream.frames[0] if len(stream.frames) == 1 else None
        self._frames = itertools.cycle(stream.frames)

    def start(self) -> None:
        if self._is_sized:
            self._wake_at(max(1, self._in_flight // 2))
        self._send(self._in_flight)

    def receive(self) -> bool:
        """Take what has come and send as many again; True when the last answer is there."""
        count = self.socket.recv_into(self._buffer)
        if count == 0:
            raise WrongAnswerError("the broker closed the connection")
        self.bytes_received += count
        answers = self._count_by_size(count) if not self._is_sized else self._count(count)
        self.answered += answers
        self._send(answers)
        return self.answered == self._answers_max

    def _send(self, count: int) -> None:
        if self._left is not None:
            if count >= self._left > 0:
                self._wake_at(0)  # nothing follows that could fill up half a window
            count = min(count, self._left)
            self._left -= count
        if count:
            frames = self._single * count if self._single else b"".join(itertools.islice(self._frames, count))
            self.socket.sendall(frames)

    def _wake_at(self, answers: int) -> None:
        wanted = max(1, answers * self._answer_bytes)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)

    def _count(self, count: int) -> int:
        """Answers that end in these bytes; all have the same size, and where it is asked for the same bytes."""
        if self._expected and self._buffer[:count] != self._expected[self._phase : self._phase + count]:
            got = bytes(self._buffer[: min(count, self._answer_bytes)])
            raise WrongAnswerError(f"an answer was not as expected: {got.hex()}")
        answers, self._phase = divmod(self._phase + count, self._answer_bytes)
        return answers

    def _count_by_size(self, count: int) -> int:
        """Answers that end in these bytes, going from size to size."""
        answers = position = 0
        while position < count:
            if not self._missing:
                head = self._head + self._buffer[position : min(position + 4 - len(self._head), count)]
                position += len(head) - len(self._head)
                self._head = head if len(head) < 4 else b""
                if self._head:
                    break
                self._missing = _size_at(head)[0]
            step = min(self._missing, count - position)
            position += step
            self._missing -= step
            answers += not self._missing
        return answers


def _own_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

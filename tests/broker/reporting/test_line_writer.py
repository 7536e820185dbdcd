"""The log's lines, written from a thread: a reader that stops reading stops nothing, and hears what it missed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from ottla.broker.reporting.line_writer import WAITING_BYTES_MAX, LineWriter

SECONDS_MAX = 30
LINE = "x" * 1023


class Pipe:
    """A pipe as stderr."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        #: What the writer reported as dropped.
        self.dropped: SimpleQueue[int] = SimpleQueue()
        self.writer = LineWriter(self.writing, self.dropped.put)

    def read_lines(self, count: int) -> list[bytes]:
        """The next lines."""
        with os.fdopen(os.dup(self.reading), "rb") as file:
            return [file.readline() for _ in range(count)]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    os.close(pipe.reading)
    pipe.writer.close()
    os.close(pipe.writing)


def test_lines_arrive_whole_and_in_order(pipe: Pipe) -> None:
    """Text that is no UTF-8, such as half of a surrogate pair, is escaped."""
    pipe.writer.write("one")
    pipe.writer.write("tw\ud800")
    assert pipe.read_lines(2) == [b"one\n", b"tw\\ud800\n"]


def test_writing_never_waits_for_the_reader_and_what_was_dropped_is_counted(pipe: Pipe) -> None:
    """Up to the bound lines wait; the rest is dropped, and reported when half of what waited was read."""
    kept = WAITING_BYTES_MAX // (len(LINE) + 1)
    for _ in range(kept + 1_000):
        pipe.writer.write(LINE)
    assert pipe.dropped.empty()
    assert set(pipe.read_lines(kept)) == {LINE.encode() + b"\n"}
    assert 500 < pipe.dropped.get(timeout=SECONDS_MAX) <= 1_000  # the pipe itself has room for some


def test_a_reader_that_has_gone_is_no_reason_to_stop(pipe: Pipe) -> None:
    """Lines go nowhere then; all of them count as written."""
    os.close(pipe.reading)
    pipe.writer.write("one")
    pipe.writer.write("two")
    pipe.writer.close()
    pipe.reading = os.open(os.devnull, os.O_RDONLY)


def test_the_end_waits_for_the_last_lines_and_not_for_a_reader_that_does_not_read(pipe: Pipe) -> None:
    """Both lines are in the pipe when `close` returns; with a full pipe it returns all the same."""
    pipe.writer.write("one")
    pipe.writer.write("two")
    pipe.writer.close()
    assert os.read(pipe.reading, 100) == b"one\ntwo\n"
    stuck = LineWriter(pipe.writing, pipe.dropped.put)
    for _ in range(200):
        stuck.write(LINE)
    stuck.close()

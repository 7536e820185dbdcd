"""The journal's file: whole lines in order, whatever the disk does, and nobody waits for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from ottla.broker.groups import journal_file
from ottla.broker.groups.journal_file import JournalFile
from tests.support.told import Told

PIPE_BYTES: Final = 65_536


def test_lines_are_appended_whole_and_in_order(tmp_path: Path) -> None:
    """Also to what is there from the time before; all of it is there when it is closed."""
    path = tmp_path / "journal"
    for first in (0, 1000):
        journal = JournalFile(path, Told())
        for number in range(first, first + 1000):
            journal.write(b"%d\n" % number)
        journal.close()
    assert path.read_bytes() == b"".join(b"%d\n" % number for number in range(2000))


def test_line_torn_by_a_killed_broker_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    """It stays as it is, alone on its line."""
    path = tmp_path / "journal"
    path.write_bytes(b'{"v":1}\n{"v":')
    journal = JournalFile(path, Told())
    journal.write(b'{"v":1}\n')
    journal.close()
    assert path.read_bytes() == b'{"v":1}\n{"v":\n{"v":1}\n'


def test_whole_lines_are_continued_without_an_empty_one(tmp_path: Path) -> None:
    """There is nothing to mend."""
    path = tmp_path / "journal"
    path.write_bytes(b'{"v":1}\n')
    JournalFile(path, Told()).close()
    assert path.read_bytes() == b'{"v":1}\n'


def test_full_disk_is_logged_once_and_ends_the_journal() -> None:
    """Groups go on; nobody is told twice."""
    log = Told()
    journal = JournalFile(Path("/dev/full"), log)
    journal.write(b"1\n")
    journal.close()
    journal = JournalFile(Path("/dev/full"), log)
    for _ in range(100):
        journal.write(b"1\n")
    journal.close()
    assert log.events == [("journal.abandoned", {"path": "/dev/full", "reason": "No space left on device"})] * 2


def test_disk_that_is_too_slow_ends_the_journal_before_the_memory_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits to be written is bounded, and closing doesn't wait for ever either."""
    monkeypatch.setattr(journal_file, "WAITING_BYTES_MAX", 10 * PIPE_BYTES)
    monkeypatch.setattr(journal_file, "CLOSE_SECONDS_MAX", 0.01)
    path = tmp_path / "pipe"
    os.mkfifo(path)  # that nobody reads: a disk that takes some bytes and then no more
    log = Told()
    journal = JournalFile(path, log)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    taken = 0
    while not log.events:
        journal.write(bytes(PIPE_BYTES))
        taken += PIPE_BYTES
    assert taken <= 13 * PIPE_BYTES
    assert "wait for the disk" in log.events[0][1]["reason"]
    journal.write(b"too late\n")
    journal.close()
    assert len(log.events) == 1
    with os.fdopen(reader, "rb") as pipe:
        os.set_blocking(reader, True)
        while pipe.read(PIPE_BYTES):  # now the disk is quick, and the thread comes to its end
            pass


def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    """The command line makes one clear line of it."""
    with pytest.raises(IsADirectoryError):
        JournalFile(tmp_path, Told())

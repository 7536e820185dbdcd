"""The machine goes down again while a log that it found is being opened."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ottla.log.storage.disk_replacement import SWAP
from ottla.log.storage.file_operations import FileOperations
from ottla.log.storage.files import OpenFiles
from ottla.log.storage.log_opening import open_after_crash
from ottla.log.storage.shared import Disk
from tests.log.storage.crash.power_loss import FileSystem, states
from tests.log.storage.crash.recording import RecordingOperations
from tests.log.storage.crash.site import SlowWorker
from tests.support.batches import batch
from tests.support.told import Told

STATES: Final = 300


def segment(base_offset: int, records: int) -> bytes:
    data = bytearray(batch([(b"%d" % number, b"") for number in range(records)]))
    data[:8] = base_offset.to_bytes(8)  # which the checksum leaves out
    return bytes(data)


@pytest.mark.parametrize("file_system", FileSystem, ids=lambda file_system: file_system.value)
@pytest.mark.parametrize(
    ("files", "offsets"),
    [
        # A segment that was about to take the place of three, of which the first is gone.
        (
            {
                f"{0:020}-{6:020}{SWAP}.log": segment(0, 6),
                "00000000000000000002.log": segment(2, 2),
                "00000000000000000004.log": segment(4, 2),
                "00000000000000000006.log": segment(6, 1),
            },
            [0, 6],
        ),
        # Three that were about to be removed, of which the last is out of the way.
        (
            {
                "00000000000000000000.log": segment(0, 2),
                "00000000000000000002.log": segment(2, 2),
                "00000000000000000004.log.deleted": segment(4, 2),
                "00000000000000000006.log": segment(6, 1),
            },
            [6],
        ),
    ],
    ids=["swap", "removal"],
)
def test_what_was_begun_is_ended_by_the_next_start(
    files: dict[str, bytes], offsets: list[int], file_system: FileSystem, directory: Path
) -> None:
    """Whatever of it had reached the device."""
    root = directory / "live"
    (root / "log").mkdir(parents=True)
    for name, data in files.items():
        (root / "log" / name).write_bytes(data)
    recording = RecordingOperations(root)
    assert opened(root / "log", recording) == offsets
    for _, found in states(recording, file_system, Random(1), STATES, directory):
        assert opened(found / "log", FileOperations()) == offsets, os.listdir(found / "log")


def opened(path: Path, operations: FileOperations) -> list[int]:
    """Open a log; returns where its segments begin."""
    log = open_after_crash(Disk(OpenFiles(100, operations), SlowWorker(), Told()), str(path), "", 6, 0)
    assert not log.is_offline
    log.close()
    return [segment.base_offset for segment in log.segments]

"""Runs Ottla on a disk on which everything that is done is written down, until the machine loses its power.

    python -m tests.soak.recorded_disk RECORD DISK PROGRAM ARGUMENT…

DISK is the directory that the data directory is in. What is there when the program starts counts as on the device, as
it is after a clean stop. SIGUSR1 is the power's loss: the process ends at once, and RECORD has what was done by then,
from which `power_loss` makes what the machine may find. Who got an answer before the signal, got it for what is in the
record.
"""

from __future__ import annotations

import os
import pickle
import runpy
import signal
import sys
from pathlib import Path

from ottla.broker.storage import file_operations
from tests.storage.crash.recording import RecordingOperations


def record(path: Path, operations: RecordingOperations) -> None:
    """Have SIGUSR1 end it."""

    def lose_power(_number: int, _frame: object) -> None:
        with operations.lock:
            path.write_bytes(pickle.dumps(operations.recorded()))
            os._exit(0)

    signal.signal(signal.SIGUSR1, lose_power)


if __name__ == "__main__":
    operations = RecordingOperations(Path(sys.argv[2]))
    file_operations.FileOperations = lambda: operations  # type: ignore[misc, assignment]
    record(Path(sys.argv[1]), operations)
    sys.argv = sys.argv[3:]
    runpy.run_path(sys.argv[0], run_name="__main__")

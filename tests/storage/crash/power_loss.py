"""What a machine may find on its device after it lost power, at any moment of what was recorded.

Of a file: what it held when it was last flushed, and of what was written since then any sectors, in any order. Its size
is that of any moment since then; where a sector is missing it holds what was there before, or zeros.

Of names in directories, two file systems are told apart:

    ORDERED   changes arrive in the order in which they were made, all directories together, up to any of them; those
              of a directory that was flushed, and all before them, have arrived. So it is with a journal: ext4, XFS, …
    LOOSE     of each directory any of the changes made since it was flushed. No file system is worse; POSIX allows it.

Neither takes a file's flushing for that of its name. A change of names happens or doesn't: a rename is never half done.
So what becomes of one name comes in order: it can't be given anew while what had it before still has it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from random import Random
from typing import Final

from tests.storage.crash.recording import (
    ROOT,
    Node,
    Operation,
    Recorded,
    RecordingOperations,
    Rename,
    Resize,
    Sync,
    Write,
)

SECTOR_BYTES: Final = 512


class FileSystem(Enum):
    """How names reach the device."""

    ORDERED = "ordered"
    LOOSE = "loose"


class Machine:
    """A device, and what is on its way to it; `run` goes through a recording."""

    def __init__(self, recording: RecordingOperations | Recorded, file_system: FileSystem) -> None:
        self._file_system = file_system
        self._left: Iterator[Operation] = iter(recording.done)
        self._on_device: dict[Node, bytes] = dict(recording.contents)
        self._written: dict[Node, list[Write | Resize]] = {}
        self._names: dict[Node, dict[str, Node]] = {node: dict(names) for node, names in recording.names.items()}
        self._renamed: list[Rename] = []

    def run(self, count: int) -> None:
        """Take so many more operations."""
        for _ in range(count):
            operation = next(self._left)
            match operation:
                case Write() | Resize():
                    self._written.setdefault(operation.file, []).append(operation)
                case Rename():
                    self._renamed.append(operation)
                case Sync(node) if node in self._names:
                    self._sync_directory(node)
                case Sync(node):
                    self._on_device[node] = _with(self._on_device.get(node, b""), self._written.pop(node, []))

    def _sync_directory(self, node: Node) -> None:
        if self._file_system is FileSystem.LOOSE:
            arrived = [rename for rename in self._renamed if rename.directory == node]
            self._renamed = [rename for rename in self._renamed if rename.directory != node]
        else:
            last = max((at for at, rename in enumerate(self._renamed) if rename.directory == node), default=-1)
            arrived, self._renamed = self._renamed[: last + 1], self._renamed[last + 1 :]
        _rename(self._names, arrived)

    def lose_power(self, random: Random, target: Path) -> None:
        """Write what might be found to an empty directory."""
        names = {node: dict(known) for node, known in self._names.items()}
        _rename(names, self._some(self._renamed, random))
        luck = random.choice((0.0, 0.5, 0.9, 1.0))
        self._write(names, ROOT, str(target), random, luck)

    def _some(self, renamed: list[Rename], random: Random) -> Sequence[Rename]:
        if self._file_system is FileSystem.ORDERED:
            return renamed[: random.choice((0, len(renamed), random.randint(0, len(renamed))))]
        chance = random.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        arrived: list[Rename] = []
        missing: set[tuple[Node, str]] = set()
        for rename in renamed:
            names = {(rename.directory, name) for name, _ in rename.changes}
            if random.random() < chance and names.isdisjoint(missing):
                arrived.append(rename)
            else:
                missing |= names
        return arrived

    def _write(
        self, names: dict[Node, dict[str, Node]], directory: Node, path: str, random: Random, luck: float
    ) -> None:
        for name, node in names[directory].items():
            entry = f"{path}/{name}"
            if node in names:
                os.mkdir(entry)
                self._write(names, node, entry, random, luck)
            else:
                with open(entry, "wb") as file:
                    file.write(self._found(node, random, luck))

    def _found(self, node: Node, random: Random, luck: float) -> bytes:
        """A file as it might be found. `luck`: how likely it is that all of it arrived."""
        before, written = self._on_device.get(node, b""), self._written.get(node, [])
        if not written or random.random() < 0.2:
            return before
        if random.random() < luck:
            return _with(before, written)
        sized = random.randint(0, len(written))  # the size is that after so many of them
        chance = random.choice((0.0, 0.5, 0.9, 1.0))
        some = [part for number, one in enumerate(written) for part in _parts(one, number < sized, chance, random)]
        data = bytearray(_with(before, some))
        size = len(_with(before, written[:sized]))
        return bytes(data[:size]).ljust(size, b"\0")


def _parts(operation: Write | Resize, is_sized: bool, chance: float, random: Random) -> Iterator[Write | Resize]:
    """What of an operation arrived: of bytes any sectors, of a size all or nothing."""
    if isinstance(operation, Resize):
        if is_sized:
            yield operation
        return
    file, position, data = operation
    start = 0
    while start < len(data):
        end = start + SECTOR_BYTES - (position + start) % SECTOR_BYTES
        if random.random() < chance:
            yield Write(file, position + start, data[start:end])
        start = end


def _with(before: bytes, operations: Sequence[Write | Resize]) -> bytes:
    data = bytearray(before)
    for operation in operations:
        if isinstance(operation, Resize):
            size = operation.size
            data[size:] = bytes(max(0, size - len(data)))
        else:
            position = operation.position
            data.extend(bytes(max(0, position - len(data))))
            data[position : position + len(operation.data)] = operation.data
    return bytes(data)


def _rename(names: dict[Node, dict[str, Node]], renamed: Sequence[Rename]) -> None:
    for rename in renamed:
        for name, node in rename.changes:
            if node is None:
                names[rename.directory].pop(name, None)
            else:
                names[rename.directory][name] = node


def new_machine(root: Path) -> RecordingOperations:
    """With nothing on its device."""
    root.mkdir(parents=True)
    return RecordingOperations(root)


def states(
    operations: RecordingOperations, file_system: FileSystem, random: Random, count: int, directory: Path
) -> Iterator[tuple[int, Path]]:
    """(after how many operations power was lost, a directory with what is found then), so many times."""
    machine, done = Machine(operations, file_system), 0
    for number, moment in enumerate(sorted(random.randint(0, len(operations.done)) for _ in range(count))):
        machine.run(moment - done)
        done = moment
        found = directory / f"found-{number}"
        found.mkdir(parents=True)
        machine.lose_power(random, found)
        yield moment, found
        shutil.rmtree(found)

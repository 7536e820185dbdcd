"""The door to the data directory with somebody behind it who writes everything down.

What is asked for is done, and noted as what a file system makes of it: bytes and sizes of files, which are known by
number whatever they are called, and names in directories. From that `power_loss` builds what a machine might find.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple, TypeAlias

from ottla.log.storage.file_operations import FileOperations
from ottla.protocol.primitives import Buffer

#: The number of the directory that everything is in.
ROOT: Final = 0

Node: TypeAlias = int


class Write(NamedTuple):
    """Bytes came into a file."""

    file: Node
    position: int
    data: bytes


class Resize(NamedTuple):
    """A file was cut, or made longer."""

    file: Node
    size: int


class Rename(NamedTuple):
    """Names of a directory changed, all of them or none: each stands for this node now, or for nothing."""

    directory: Node
    changes: tuple[tuple[str, Node | None], ...]


class Sync(NamedTuple):
    """Whoever asked was told that a file, or the names of a directory, are on the device."""

    node: Node


Operation: TypeAlias = Write | Resize | Rename | Sync


class Recorded(NamedTuple):
    """All that was done, as it can be handed from one process to another."""

    done: list[Operation]
    #: Files, and the names in directories, as they were on the device at the beginning.
    contents: dict[Node, bytes]
    names: dict[Node, dict[str, Node]]


class RecordingOperations(FileOperations):
    """What is done below the directory `root`, which holds what is on the device at the beginning."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = str(root)
        self.done: list[Operation] = []
        #: The directories as the process sees them, and files that were there at the beginning.
        self.directories: dict[Node, dict[str, Node]] = {ROOT: {}}
        self.contents: dict[Node, bytes] = {}
        self._nodes_by_descriptor: dict[int, Node] = {}
        self._last_node = ROOT
        #: Who holds it has nothing done.
        self.lock = RLock()
        self._read(root, ROOT)
        self.names: dict[Node, dict[str, Node]] = {node: dict(names) for node, names in self.directories.items()}
        for name in ("open", "pwrite", "ftruncate", "truncate", "fsync", "fdatasync", "rename", "unlink", "mkdir"):
            setattr(self, name, getattr(self, f"_{name}"))
        self.rmtree = self._rmtree

    def recorded(self) -> Recorded:
        """What was done so far. Whoever asks holds `lock`, if others are at work."""
        return Recorded(self.done, self.contents, self.names)

    def _read(self, path: Path, node: Node) -> None:
        for entry in path.iterdir():
            found = self.directories[node][entry.name] = self._new_node()
            if entry.is_dir():
                self.directories[found] = {}
                self._read(entry, found)
            else:
                self.contents[found] = entry.read_bytes()

    def _new_node(self) -> Node:
        self._last_node += 1
        return self._last_node

    def _find(self, path: str, dir_fd: int | None = None) -> tuple[Node, str]:
        """(the directory, the name in it)."""
        if dir_fd is not None:
            return self._nodes_by_descriptor[dir_fd], path
        *above, name = os.path.relpath(path, self.root).split("/")
        node = ROOT
        for part in above:
            node = self.directories[node][part]
        return node, name

    def _node(self, path: str) -> Node:
        directory, name = self._find(path)
        return ROOT if name == "." else self.directories[directory][name]

    def _name(self, directory: Node, *changes: tuple[str, Node | None]) -> None:
        for name, node in changes:
            if node is None:
                del self.directories[directory][name]
            else:
                self.directories[directory][name] = node
        self.done.append(Rename(directory, changes))

    # The system's operations

    def _open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        with self.lock:
            fd = os.open(path, flags, mode, dir_fd=dir_fd)
            if dir_fd is None and os.path.relpath(path, self.root).startswith(".."):
                return fd
            directory, name = self._find(path, dir_fd)
            node = ROOT if name == "." else self.directories[directory].get(name)
            if node is None:
                node = self._new_node()
                self._name(directory, (name, node))
            elif flags & os.O_TRUNC:
                self.done.append(Resize(node, 0))
            self._nodes_by_descriptor[fd] = node
            return fd

    def _pwrite(self, fd: int, data: Buffer, position: int) -> int:
        with self.lock:
            written = os.pwrite(fd, data, position)
            self.done.append(Write(self._nodes_by_descriptor[fd], position, bytes(data)[:written]))
            return written

    def _ftruncate(self, fd: int, size: int) -> None:
        with self.lock:
            os.ftruncate(fd, size)
            self.done.append(Resize(self._nodes_by_descriptor[fd], size))

    def _truncate(self, path: str, size: int) -> None:
        with self.lock:
            os.truncate(path, size)
            self.done.append(Resize(self._node(path), size))

    def _fsync(self, fd: int) -> None:
        with self.lock:
            if (node := self._nodes_by_descriptor.get(fd)) is not None:
                self.done.append(Sync(node))

    _fdatasync = _fsync

    def _rename(self, path: str, new_path: str) -> None:
        with self.lock:
            os.rename(path, new_path)
            directory, name = self._find(path)
            node = self.directories[directory][name]
            new_directory, new_name = self._find(new_path)
            assert new_directory == directory, "a move between directories is not simulated"
            self._name(directory, (name, None), (new_name, node))

    def _unlink(self, path: str, *, dir_fd: int | None = None) -> None:
        with self.lock:
            os.unlink(path, dir_fd=dir_fd)
            directory, name = self._find(path, dir_fd)
            self._name(directory, (name, None))

    def _mkdir(self, path: str, mode: int = 0o777) -> None:
        with self.lock:
            os.mkdir(path, mode)
            directory, name = self._find(path)
            node = self._new_node()
            self.directories[node] = {}
            self.names[node] = {}
            self._name(directory, (name, node))

    def _rmtree(self, path: str) -> None:
        with self.lock:
            for below in self._below(path):
                directory, name = self._find(below)
                (os.rmdir if os.path.isdir(below) else os.unlink)(below)
                self._name(directory, (name, None))

    def _below(self, path: str) -> Iterator[str]:
        for name in os.listdir(path):
            entry = f"{path}/{name}"
            if os.path.isdir(entry):
                yield from self._below(entry)
            else:
                yield entry
        yield path

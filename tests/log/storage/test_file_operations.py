"""The door to the data directory: nobody goes round it, and it says for whom what is made is open."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import ottla.log.storage
from ottla.broker.groups.journal_file import JournalFile
from ottla.log.storage.data_dir import DataDir
from ottla.log.storage.file_operations import FileOperations
from tests.conformance.log_storage import WALL_MS, append
from tests.log.storage.disks import TOPIC_ID, InlineWorker
from tests.support.told import Told

DOOR: Final = "file_operations.py"
#: What may be asked of `os` elsewhere: it changes nothing.
HARMLESS: Final = frozenset(
    (
        "O_CREAT",
        "O_RDONLY",
        "O_RDWR",
        "O_WRONLY",
        "close",
        "fstat",
        "getpid",
        "listdir",
        "path",
        "pread",
        "stat",
        "urandom",
    )
)
#: Methods of `Path`, and of files, that change something.
CHANGING: Final = frozenset(("write_text", "write_bytes", "touch", "rmdir", "symlink_to", "hardlink_to", "chmod"))


def names_used(tree: ast.AST) -> Iterator[str]:
    """What of the system a module asks for: `os.…`, modules that work on files, `open` for writing."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name not in HARMLESS:
                yield f"os.{name}"
            case ast.Attribute(attr=name) if name in CHANGING:
                yield name
            case ast.ImportFrom(module="os" | "shutil" | "tempfile" as module):
                yield f"from {module}"
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in ("shutil", "tempfile", "posix"))
            case ast.Call(func=ast.Name(id="open"), args=[_, ast.Constant(value="rb")], keywords=[]):
                pass
            case ast.Call(func=ast.Name(id="open")):
                yield "open"


@pytest.mark.parametrize(
    "module", sorted(Path(ottla.log.storage.__path__[0]).glob("*.py")), ids=lambda module: module.stem
)
def test_nobody_goes_round_the_door(module: Path) -> None:
    """What the crash simulator doesn't see it can't lose."""
    used = set(names_used(ast.parse(module.read_text())))
    assert bool(used) is (module.name == DOOR), used


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.rename(a, b)",
        "import os\nos.open(a, os.O_RDWR)",
        "from os import fsync",
        "import shutil",
        "open(a, 'wb')",
        "open(a)",
        "path.write_text('')",
    ],
)
def test_who_would_go_round_it_is_found(text: str) -> None:
    """Whichever way."""
    assert list(names_used(ast.parse(text)))


def test_the_door_is_the_system_itself() -> None:
    """Nothing stands between storage and the system when a batch is written."""
    operations = FileOperations()
    assert operations.pwrite is os.pwrite
    assert operations.fdatasync is os.fdatasync


class TestForWhomItIs:
    """Who may read the files of a data directory."""

    @pytest.fixture
    def umask(self) -> Iterator[None]:
        """A usual one, which would let everybody read."""
        before = os.umask(0o022)
        yield
        os.umask(before)

    def modes(self, path: Path) -> tuple[set[int], set[int]]:
        """(those of all directories, those of all files) after a log was written to and closed."""
        data_dir = DataDir(path, Told(), InlineWorker(), 100, FileOperations())
        data_dir.open("h6bZVlS7Rx-w3X_OOJM-kQ")
        data_dir.cluster_file.open()
        log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
        append(log, (0, 5))
        log.roll(5, WALL_MS)
        log.close()
        data_dir.close()
        found = [path, *path.rglob("*")]
        assert len(found) > 8
        modes = [
            {stat.S_IMODE(one.stat().st_mode) for one in found if one.is_dir() is wanted} for wanted in (True, False)
        ]
        return modes[0], modes[1]

    def test_one_that_ottla_makes_is_its_owner_s(self, tmp_path: Path, umask: None) -> None:
        """Whatever the umask would allow."""
        assert self.modes(tmp_path / "data") == ({0o700}, {0o600})

    @pytest.mark.parametrize(
        ("mode", "directories", "files"),
        [(0o700, 0o700, 0o600), (0o750, 0o750, 0o640), (0o755, 0o755, 0o644), (0o770, 0o750, 0o640)],
    )
    def test_one_that_was_there_passes_on_for_whom_it_is_open(
        self, tmp_path: Path, umask: None, mode: int, directories: int, files: int
    ) -> None:
        """Less the umask, as with everything that is made."""
        path = tmp_path / "data"
        path.mkdir()
        path.chmod(mode)
        assert self.modes(path) == ({mode, directories}, {files})

    def test_a_journal_is_its_owner_s(self, tmp_path: Path, umask: None) -> None:
        """It tells who reads what. One that was there stays as it is."""
        for name, mode in (("new", 0o600), ("old", 0o664)):
            path = tmp_path / name
            if name == "old":
                path.write_text("")
                path.chmod(mode)
            JournalFile(path, Told()).close()
            assert stat.S_IMODE(path.stat().st_mode) == mode

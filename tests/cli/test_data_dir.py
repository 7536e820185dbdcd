"""`ottla serve --data-dir` as scripts rely on it: the ready line, and what it says when it can't use the directory."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from ottla.cluster.address import MachineRefused
from ottla.testing import Broker
from tests.cli.stage import create, produce
from tests.cli.terminal import only_line, ottla, serving
from tests.support.client import Client


def refused(path: Path) -> str:
    """What it says when it is started there."""
    ended = ottla("serve", "--listen", "127.0.0.1:0", "--data-dir", str(path))
    assert (ended.returncode, ended.stdout) == (1, "")
    line = only_line(ended.stderr)
    assert "--data-dir: " in line
    return line


def test_the_ready_line_names_the_directory(tmp_path: Path) -> None:
    """Which is made if it is not there."""
    path = tmp_path / "not" / "there"
    with serving("--data-dir", str(path)) as broker:
        assert broker.ready_line.endswith(f" data_dir={path}")
    assert (path / "meta.properties").exists()


def test_a_directory_in_use_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    """By whom, and what to do. The one who has it is not disturbed."""
    with serving("--data-dir", str(tmp_path)) as broker, Client(broker.bootstrap) as client:
        create(client, "orders", 1)
        said = refused(tmp_path)
        assert f"{tmp_path} is in use by process {broker.process.pid}; stop that one, or name another" in said
        produce(client, "orders", 0, 3)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("meta.properties", b"version=1\ncluster.id=x\nottla.format=2\n", "use the newer Ottla that wrote it"),
        ("meta.properties", b"\xff\xfe", "is not one of Ottla's; name another directory"),
        ("notes.txt", b"", "holds notes.txt and no meta.properties"),
    ],
)
def test_what_is_not_ours_is_one_line_and_exit_code_1(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    """A newer format, nonsense, somebody's home; and nothing is changed in it."""
    (tmp_path / name).write_bytes(content)
    assert said in refused(tmp_path)
    assert (tmp_path / name).read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == sorted([".lock", name])


@pytest.mark.parametrize("name", ["meta.properties", "cluster.journal", "clean-shutdown.json", ".lock"])
def test_what_cannot_be_read_is_named_in_one_line(tmp_path: Path, name: str) -> None:
    """Root may read any file, so here a directory is where a file should be."""
    with Broker(data_dir=tmp_path):
        pass
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert f"{tmp_path}/{name}: Is a directory; name a directory that can be" in refused(tmp_path)


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_file_instead_of_a_directory_is_one_line_and_exit_code_1(tmp_path: Path, name: str) -> None:
    """Be it the directory, or one above it."""
    (tmp_path / "file").write_text("")
    said = refused(tmp_path / name)
    assert re.search(r"cannot use \S+/file\S*: (it is no directory|Not a directory); name a directory", said)


def test_a_broker_in_a_test_raises_the_same(tmp_path: Path) -> None:
    """One exception with one sentence, from the start; and the directory is free again when who had it has stopped."""
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineRefused, match=r"^--data-dir: cannot use \S+/file: it is no directory; name a directory"):
        Broker(data_dir=tmp_path / "file").start()
    with Broker(data_dir=tmp_path / "data"):
        in_use = rf"^--data-dir: \S+ is in use by process {os.getpid()}; stop that one, or name another directory$"
        with pytest.raises(MachineRefused, match=in_use):
            Broker(data_dir=tmp_path / "data").start()
    with Broker(data_dir=tmp_path / "data"):
        pass


def test_a_damaged_or_missing_journal_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    """It names the line. With the file put back the broker starts."""
    with Broker(data_dir=tmp_path) as broker, Client(broker.bootstrap_servers) as client:
        create(client, "orders", 1)
        produce(client, "orders", 0, 3)
    journal = tmp_path / "cluster.journal"
    shutil.copy(journal, tmp_path.with_suffix(".copy"))
    journal.write_bytes(journal.read_bytes().replace(b"orders", b"0rders"))
    assert "cluster.journal was changed" in (said := refused(tmp_path))
    assert "line 2 does not match its checksum" in said
    journal.unlink()
    assert "it is gone, and there are logs" in refused(tmp_path)
    shutil.copy(tmp_path.with_suffix(".copy"), journal)
    with Broker(data_dir=tmp_path) as broker, Client(broker.bootstrap_servers) as client:
        produce(client, "orders", 0, 3)

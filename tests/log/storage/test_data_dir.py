"""The data directory: whose it is, when it is refused, and what becomes of what is half done in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ottla.cluster.address import MachineRefused
from ottla.log.storage.cluster_file import CLUSTER_FILE, ClusterFile, ClusterFileDamagedError
from ottla.log.storage.data_dir import CLEAN_MARK, META, DataDir, DataDirRefused
from ottla.log.storage.directory_lock import LOCK
from ottla.log.storage.file_operations import FileOperations
from tests.conformance.log_storage import WALL_MS, append, content
from tests.log.storage.disks import TOPIC_ID, InlineWorker
from tests.support.running_broker import RunningBroker
from tests.support.told import Told, told

CLUSTER_ID: Final = "h6bZVlS7Rx-w3X_OOJM-kQ"
OTHER_ID: Final = "AAAAAAAAQACAAAAAAAAAAg"
ROOT: Final = hasattr(os, "geteuid") and os.geteuid() == 0


def opened(path: Path, new_id: str = CLUSTER_ID) -> DataDir:
    data_dir = DataDir(path, Told(), InlineWorker(), 100, FileOperations())
    data_dir.open(new_id)
    return data_dir


def sorted_out(path: Path, *topics: tuple[str, str], deleted: dict[str, str] | None = None) -> DataDir:
    """Open again, where the journal knows of partition 0 of these topics."""
    data_dir = opened(path)
    data_dir.cluster_file.open()
    data_dir.sort_out({f"{topic}-0/{topic_id}" for topic, topic_id in topics}, deleted or {})
    return data_dir


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_the_cluster_id_is_for_life(path: Path) -> None:
    """It is that of the first start, whatever a later one would have taken."""
    opened(path).release()
    again = opened(path, OTHER_ID)
    assert again.cluster_id == CLUSTER_ID


def test_a_directory_in_use_is_refused(path: Path) -> None:
    """The one who has it is named; when that one ends, however it ends, it is free."""
    program = (
        "from tests.log.storage.test_data_dir import *; import sys, time; "
        "opened(Path(sys.argv[1])); print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(DataDirRefused, match=f"in use by process {other.pid}; stop"):
            opened(path)
        other.kill()
    opened(path).release()


def test_a_forked_child_does_not_hold_the_directory(path: Path) -> None:
    """It has the descriptor, and with it the lock; whoever has taken the directory lets go of both."""
    data_dir = opened(path)
    ours, childs = os.pipe()
    if (child := os.fork()) == 0:
        os.close(childs)
        os.read(ours, 1)  # until nobody can write any more
        os._exit(0)
    try:
        data_dir.release()
        opened(path).release()
    finally:
        os.close(childs)
        os.waitpid(child, 0)
        os.close(ours)


def test_a_newer_format_is_refused(path: Path) -> None:
    """And nothing in the directory is touched."""
    opened(path).release()
    meta = path / META
    meta.write_text(meta.read_text().replace("ottla.format=1", "ottla.format=2"))
    with pytest.raises(DataDirRefused, match="has format 2, and this version of Ottla knows format 1; use"):
        opened(path)
    opened_meta = meta.read_text()
    assert "ottla.format=2" in opened_meta


def test_a_directory_of_somebody_else_is_refused(path: Path) -> None:
    """A home directory, or Kafka's own."""
    path.mkdir()
    (path / "thesis.tex").write_text("")
    with pytest.raises(DataDirRefused, match=r"holds thesis\.tex and no meta\.properties"):
        opened(path)
    (path / META).write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    with pytest.raises(DataDirRefused, match="not one of Ottla's"):
        opened(path)
    assert {name.name for name in path.iterdir()} == {"thesis.tex", META, LOCK}


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    """A file, and a place below one."""
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below"):
        with pytest.raises(DataDirRefused, match=r"cannot use .*; name a directory that can be written"):
            opened(tmp_path / name)


@pytest.mark.skipif(ROOT, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """As soon as that shows."""
    tmp_path.chmod(0o500)
    with pytest.raises(DataDirRefused, match="Permission denied; name a directory that can be written"):
        opened(tmp_path / "data")


def test_the_mark_of_a_clean_stop_is_used_once(path: Path) -> None:
    """From when a log may be written to, it is not true any more."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(log, (0, 5))
    log.close()
    data_dir.close()
    assert (path / CLEAN_MARK).exists()
    again = sorted_out(path, ("t", TOPIC_ID))
    assert again.was_clean
    assert not (path / CLEAN_MARK).exists()
    found = again.open_log("t", TOPIC_ID, 0, WALL_MS)
    assert content(found) == content(log)
    append(found, (5, 5))
    again.release()  # as a crash does
    after = sorted_out(path, ("t", TOPIC_ID))
    assert not after.was_clean
    assert after.open_log("t", TOPIC_ID, 0, WALL_MS).end_offset == 10


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff" * 100, b"{}\n{}"])
def test_a_damaged_mark_is_none(path: Path, damage: bytes) -> None:
    """The logs are looked through, as after a crash."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(log, (0, 5))
    log.close()
    data_dir.close()
    (path / CLEAN_MARK).write_bytes(damage)
    again = sorted_out(path, ("t", TOPIC_ID))
    assert not again.was_clean
    assert again.open_log("t", TOPIC_ID, 0, WALL_MS).end_offset == 5


def test_damaged_recovery_points_are_none(path: Path) -> None:
    """All is looked through, and people are told why it takes so long."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(log, (0, 5))
    log.flush()
    log.close()
    data_dir.close()
    (path / CLEAN_MARK).unlink()
    (path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0\n")
    again = sorted_out(path, ("t", TOPIC_ID))
    assert told(again.events, "metadata.damaged")
    assert again.open_log("t", TOPIC_ID, 0, WALL_MS).end_offset == 5


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_topic_made_anew_under_a_name_that_was_there_at_the_start(path: Path, is_clean: bool) -> None:
    """Its logs are new: nobody looks for files that went with the former topic."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5))
    if is_clean:
        data_dir.flush()
        data_dir.close()
    else:
        data_dir.release()
    again = sorted_out(path, ("t", TOPIC_ID))
    former = again.open_log("t", TOPIC_ID, 0, WALL_MS)
    again.forget("t", 1)
    former.delete()
    fresh = again.open_log("t", OTHER_ID, 0, WALL_MS)
    assert not fresh.is_offline
    append(fresh, (0, 1))
    assert fresh.end_offset == 1


def test_what_was_flushed_of_a_deleted_topic_is_not_asked_of_one_made_anew(path: Path) -> None:
    """A crash before the next checkpoint finds the recovery point of the former topic, under the same name."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    former = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(former, (0, 5))
    former.flush()
    data_dir.save_recovery_points_soon()
    data_dir.forget("t", 1)
    former.delete()
    append(data_dir.open_log("t", OTHER_ID, 0, WALL_MS), (0, 2))
    data_dir.release()
    fresh = sorted_out(path, ("t", OTHER_ID)).open_log("t", OTHER_ID, 0, WALL_MS)
    assert not fresh.is_offline
    assert fresh.end_offset == 2


@pytest.mark.parametrize("damage", [b"", b"0\n9\n", b"\xff\xfe"])
def test_a_damaged_note_of_what_was_cleaned_is_none(path: Path, damage: bytes) -> None:
    """More is cleaned anew, and nothing is lost."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5))
    data_dir.save_cleaned_offset("t", 0, 3)
    data_dir.release()
    assert cleaned_offset(path) == 3
    (path / "cleaner-offset-checkpoint").write_bytes(damage)
    assert cleaned_offset(path) == 0


def cleaned_offset(path: Path, topic_id: str = TOPIC_ID) -> int:
    """As a start finds it after a crash."""
    data_dir = sorted_out(path, ("t", topic_id))
    data_dir.open_log("t", topic_id, 0, WALL_MS)
    offset = data_dir.cleaned_offset("t", 0)
    data_dir.release()
    return offset


def test_what_was_cleaned_goes_by_topic_id(path: Path) -> None:
    """So it says nothing of a topic that was made anew, and neither do the names of an older Ottla."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5))
    data_dir.save_cleaned_offset("t", 0, 3)
    data_dir.release()
    shutil.rmtree(path / "t-0")  # as far as the deletion came before the crash
    assert cleaned_offset(path, OTHER_ID) == 0
    (path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    data_dir = sorted_out(path, ("t", OTHER_ID), ("u", TOPIC_ID))
    assert data_dir.open_log("t", OTHER_ID, 0, WALL_MS).end_offset == 0
    assert data_dir.cleaned_offset("t", 0) == 0
    append(data_dir.open_log("u", TOPIC_ID, 0, WALL_MS), (0, 5))
    data_dir.save_cleaned_offset("u", 0, 2)
    assert (path / "cleaner-offset-checkpoint").read_text() == f"0\n1\n{TOPIC_ID} 0 2\n"
    data_dir.release()


def test_a_log_that_was_cut_is_cleaned_no_further(path: Path) -> None:
    """What is written in the place of what was lost is dirty, after the next start as well."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5), (5, 5))
    data_dir.save_cleaned_offset("t", 0, 10)
    data_dir.release()
    os.truncate(path / "t-0" / f"{0:020d}.log", 100)
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    assert data_dir.cleaned_offset("t", 0) == 5
    append(log, (5, 9))
    data_dir.release()
    assert cleaned_offset(path) == 5


def test_what_could_not_be_put_in_place_is_not_noted_as_cleaned(path: Path) -> None:
    """The next start finds the log as it was before it was cleaned."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    log = data_dir.open_log("t", TOPIC_ID, 0, WALL_MS)
    append(log, (0, 5))
    log.go_offline("replace segments in", log.directory, OSError(5, "Input/output error"))
    data_dir.save_cleaned_offset("t", 0, 5)
    data_dir.release()
    assert cleaned_offset(path) == 0


@pytest.mark.parametrize("damage", [b"", b"version: 9\n", b"\xff\xfe"])
def test_a_log_whose_metadata_are_damaged_is_its_topic_s(path: Path, damage: bytes) -> None:
    """Nobody else's directory has that name."""
    data_dir = sorted_out(path, ("t", TOPIC_ID))
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5))
    data_dir.release()
    (path / "t-0" / "partition.metadata").write_bytes(damage)
    assert sorted_out(path, ("t", TOPIC_ID)).open_log("t", TOPIC_ID, 0, WALL_MS).end_offset == 5


def test_a_deletion_that_was_cut_short_is_finished(path: Path) -> None:
    """Whether the log had been renamed or not, and a new topic of the same name is another one."""
    data_dir = sorted_out(path)
    for topic in ("renamed", "not-renamed"):
        append(data_dir.open_log(topic, TOPIC_ID, 0, WALL_MS), (0, 5))
    (path / "renamed-0").rename(path / f"renamed-0.{'0' * 32}-delete")
    data_dir.release()
    again = sorted_out(path, ("not-renamed", OTHER_ID), deleted={TOPIC_ID: "not-renamed"})
    assert not [name for name in os.listdir(path) if "renamed" in name]
    assert again.open_log("not-renamed", OTHER_ID, 0, WALL_MS).end_offset == 0


def test_a_log_of_no_topic_is_set_aside(path: Path) -> None:
    """Nobody knows why it is there, so nobody deletes it."""
    data_dir = sorted_out(path)
    append(data_dir.open_log("t", TOPIC_ID, 0, WALL_MS), (0, 5))
    data_dir.release()
    again = sorted_out(path)
    (said,) = told(again.events, "log.stray")
    assert (Path(str(said["path"])) / f"{0:020d}.log").stat().st_size == 100
    again.release()
    assert not told(sorted_out(path).events, "log.stray")


class TestTheJournal:
    """Changes of the cluster, one a line."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        journal = ClusterFile(str(tmp_path), InlineWorker(), FileOperations(), Told())
        journal.open()
        journal.append({"topic": "a"})
        journal.append({"topic": "b"})
        journal.close()
        return tmp_path / CLUSTER_FILE

    def reopen(self, file: Path) -> tuple[list[object], int]:
        journal = ClusterFile(str(file.parent), InlineWorker(), FileOperations(), Told())
        changes, bytes_cut = journal.open()
        journal.append({"topic": "z"})
        journal.close()
        return list(changes), bytes_cut

    def test_comes_back_in_order(self, file: Path) -> None:
        """And goes on at its end."""
        assert self.reopen(file) == ([{"topic": "a"}, {"topic": "b"}], 0)
        assert self.reopen(file) == ([{"topic": "a"}, {"topic": "b"}, {"topic": "z"}], 0)

    @pytest.mark.parametrize("count", [1, 5, 20])
    def test_loses_a_torn_line(self, file: Path, count: int) -> None:
        """Nobody had been told of it. What comes next is whole."""
        os.truncate(file, file.stat().st_size - count)
        changes, bytes_cut = self.reopen(file)
        assert changes == [{"topic": "a"}]
        assert bytes_cut > 0
        assert self.reopen(file) == ([{"topic": "a"}, {"topic": "z"}], 0)

    @pytest.mark.parametrize("line", [0, 1, 2])
    def test_is_refused_when_a_line_was_changed(self, file: Path, line: int) -> None:
        """Nothing is guessed, and the line is named."""
        lines = file.read_bytes().splitlines(keepends=True)
        lines[line] = lines[line].replace(b'"', b"'", 1)
        file.write_bytes(b"".join(lines))
        with pytest.raises(ClusterFileDamagedError, match=f"line {line + 1}"):
            self.reopen(file)

    def test_is_written_anew_when_most_of_it_is_past(self, tmp_path: Path) -> None:
        """A small one is left alone."""
        journal = ClusterFile(str(tmp_path), InlineWorker(), FileOperations(), Told())
        journal.open()
        for number in range(3000):
            journal.append({"settings": "1", "configs": {"log.retention.ms": str(number)}})
        journal.rewrite_if_worth_it([{"settings": "1", "configs": {"log.retention.ms": "2999"}}])
        assert (tmp_path / CLUSTER_FILE).stat().st_size < 200
        journal.append({"topic": "a"})
        journal.close()
        changes, _ = ClusterFile(str(tmp_path), InlineWorker(), FileOperations(), Told()).open()
        assert len(changes) == 2


def test_system_that_can_not_lock_files_is_told_to_leave_it_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has no fcntl; logs in memory need none."""
    for name in ("ottla.cluster.persistence", "ottla.log.storage.data_dir", "ottla.log.storage.directory_lock"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(MachineRefused, match="leave it out to have them in memory"), RunningBroker(data_dir=tmp_path):
        pass

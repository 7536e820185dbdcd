"""A machine that has no more to give: no room on the disk, no right to write, no descriptors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ottla.protocol.errors import ErrorCode
from tests.soak.conftest import Drill
from tests.soak.small_disk import SmallDisk, small_disk
from tests.support.backstage import Backstage
from tests.support.batches import batch
from tests.support.ottla_process import ottla
from tests.support.patience import PATIENCE_SECONDS

KIB: Final = 1024
DISK_BYTES: Final = 2048 * KIB
FILLING_BYTES: Final = 512 * KIB
BATCH: Final = batch([(None, bytes(16 * KIB))])
#: Few, beside the sixteen segments that a broker keeps open however few there are.
DESCRIPTORS: Final = "--nofile=64:64"

pytestmark = pytest.mark.soak


def fill_up(backstage: Backstage, topic: str) -> int:
    """Append until the disk is full; returns how many batches were acknowledged."""
    for acknowledged in range(DISK_BYTES // len(BATCH)):
        error = ErrorCode(backstage.try_to_produce(topic, records=BATCH))
        if error:
            assert error is ErrorCode.KAFKA_STORAGE_ERROR
            return acknowledged
    raise AssertionError("the disk has room without end")


def test_a_full_disk(drill: Drill, tmp_path: Path) -> None:
    """What was acknowledged is there when there is room again, and nothing else; the log goes on behind it."""
    with small_disk(tmp_path / "disk", DISK_BYTES) as disk:
        data_dir = ("--data-dir", str(disk.path / "data"))
        for number in range(drill.rounds(short=2, long=20)):
            disk.run("sh", "-c", f"head -c {FILLING_BYTES} /dev/zero > {disk.path}/filling")
            topic = f"orders-{number}"
            with ottla(None, *data_dir, within=disk.within) as broker, Backstage(broker.bootstrap) as backstage:
                backstage.create_topic(topic)
                acknowledged = fill_up(backstage, topic)
                assert ErrorCode(backstage.try_to_produce(topic)) is ErrorCode.KAFKA_STORAGE_ERROR
                assert broker.process.poll() is None
            disk.run("rm", f"{disk.path}/filling")
            with ottla(None, *data_dir, within=disk.within) as broker, Backstage(broker.bootstrap) as backstage:
                assert backstage.end_offset(topic) == acknowledged > 0
                backstage.produce(topic, records=BATCH)
                assert backstage.end_offset(topic) == acknowledged + 1
                backstage.delete_topic(topic)


def test_no_room_at_the_start(tmp_path: Path) -> None:
    """One line says so. With room again it begins."""
    with small_disk(tmp_path / "disk", DISK_BYTES) as disk:
        data_dir = ("--data-dir", str(disk.path / "data"))
        disk.run("sh", "-c", f"cat /dev/zero > {disk.path}/filling || true")
        assert "No space left on device: make room" in refusal(disk, data_dir)
        disk.run("rm", f"{disk.path}/filling")
        with ottla(None, *data_dir, within=disk.within) as broker, Backstage(broker.bootstrap) as backstage:
            backstage.create_topic("orders")


def test_a_directory_that_can_only_be_read(tmp_path: Path) -> None:
    """One line says so, also to root; what is in it is as it was."""
    with small_disk(tmp_path / "disk", DISK_BYTES) as disk:
        data_dir = ("--data-dir", str(disk.path / "data"))
        with ottla(None, *data_dir, within=disk.within) as broker, Backstage(broker.bootstrap) as backstage:
            backstage.create_topic("orders")
            backstage.produce("orders")
        disk.run("mount", "-o", "remount,ro", disk.path)
        assert "Read-only file system" in refusal(disk, data_dir)
        disk.run("mount", "-o", "remount,rw", disk.path)
        with ottla(None, *data_dir, within=disk.within) as broker, Backstage(broker.bootstrap) as backstage:
            assert backstage.end_offset("orders") == 1


def refusal(disk: SmallDisk, arguments: tuple[str, ...]) -> str:
    """What it says when it can't start there."""
    program = Path(sys.executable).with_name("ottla")
    ended = subprocess.run(
        [*disk.within, program, "serve", "--listen", "127.0.0.1:0", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.strip().splitlines()
    return line


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
def test_few_descriptors(drill: Drill, tmp_path: Path) -> None:
    """More logs are written than files may be open, time and again, and nobody is refused."""
    partitions = 100
    rounds = drill.rounds(short=3, long=50)
    within = ("prlimit", DESCRIPTORS)
    with (
        ottla(None, "--data-dir", str(tmp_path), within=within) as broker,
        Backstage(broker.bootstrap) as backstage,
    ):
        backstage.create_topic("orders", partitions, {"internal.segment.bytes": "100"})
        for _ in range(rounds):
            for partition in drill.random.sample(range(partitions), partitions):
                backstage.produce("orders", partition)
        assert [backstage.end_offset("orders", partition) for partition in range(partitions)] == [rounds] * partitions

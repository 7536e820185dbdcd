"""A log on disk that changes while it is cleaned: at every step at which the cleaner lets others have their turn.

Whatever changes, the log stays online, keeps what it was to keep, and nothing of the cleaning is left over. Kafka:
LogCleanerManager.abortCleaning, LogCleanerTest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from ottla.log.compaction.cleanable import look_at
from ottla.log.compaction.log_cleaner import KEYS_BYTES_MAX, CleaningAbortedError, clean
from ottla.log.config import LogConfig, parse_log_configs
from ottla.log.partition import Partition
from ottla.log.storage.disk import DiskStorage
from ottla.log.storage.shared import Disk
from tests.log.partitions import NOW_MS, fill, new_partition, read_all
from tests.log.storage.disks import new_disk, new_log
from tests.log.storage.test_replacing import LateWorker
from tests.support.batches import batch

COMPACT: Final = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}
BOTH: Final = {**COMPACT, "cleanup.policy": "compact,delete"}
LATER_MS: Final = NOW_MS + 14 * 24 * 3_600_000
#: More than a cleaning of the log has steps.
STEPS_MAX: Final = 60


def config(**texts: str) -> LogConfig:
    named = {name.replace("_", "."): text for name, text in texts.items()}
    return LogConfig.of(parse_log_configs({**COMPACT, **named}))


def compacted(directory: Path, disk: Disk | None = None, segments: int = 4) -> Partition:
    """A log of some segments, each with a key of its own and one that all have, of 300 KB: not read at once."""
    log = new_partition(COMPACT, storage=new_log(directory, disk))
    for number in range(segments):
        fill(log, batch([(b"all", b"%d" % number * 300_000), (b"%d" % number, b"")]))
        log._roll(NOW_MS)
    fill(log, batch([(b"last", b"")]))
    return log


def latest(log: Partition) -> dict[bytes | None, int]:
    return {record.key: record.offset for record in read_all(log)}


def to_delete(log: Partition) -> None:
    """cleanup.policy is delete from now on, and retention comes at once."""
    log.config = config(cleanup_policy="delete", retention_bytes="400000")
    log.apply_retention(NOW_MS)


def to_delete_all(log: Partition) -> None:
    log.config = config(cleanup_policy="delete", retention_ms="1")
    log.apply_retention(LATER_MS)


def to_delete_and_back(log: Partition) -> None:
    to_delete(log)
    log.config = config()


def delete_records(log: Partition) -> None:
    log.config = config(cleanup_policy="compact,delete")
    assert log.delete_records(5) == (0, 5)
    log.apply_retention(NOW_MS)


def keep_tombstones_no_longer(log: Partition) -> None:
    log.config = config(delete_retention_ms="0", segment_bytes="1048576", segment_ms="1", max_message_bytes="100")


def go_on_writing(log: Partition) -> None:
    log.config = config(internal_segment_bytes="100")
    for number in range(5):
        fill(log, batch([(b"all", b"%d" % number)]))


CHANGES: Final = (
    to_delete, to_delete_all, to_delete_and_back, delete_records, keep_tombstones_no_longer, go_on_writing
)  # fmt: skip


def interrupted(path: Path, disk: Disk | None = None) -> Iterator[tuple[Partition, Iterator[None]]]:
    """A log of its own for each step of a cleaning, which has just been taken."""
    for steps in range(STEPS_MAX):
        log = compacted(path / f"{steps}-0", disk)
        work = clean(look_at(log, NOW_MS), NOW_MS, KEYS_BYTES_MAX)
        is_done = any(next(work, work) is work for _ in range(steps))
        yield log, work
        log.close()
        if is_done:
            return
    raise AssertionError("more steps than anybody thought")


def goes_on(work: Iterator[None]) -> bool:
    """Let the cleaning go on; returns whether it came to its end."""
    try:
        for _ in work:
            pass
    except CleaningAbortedError:
        return False
    return True


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_that_changes_while_it_is_cleaned_is_well(change: Callable[[Partition], None], tmp_path: Path) -> None:
    """What it was to keep is there, readable, and can be written to and cleaned again."""
    for log, work in interrupted(tmp_path):
        before = latest(log)
        change(log)
        goes_on(work)
        assert not log.is_offline
        expected = {key: offset for key, offset in before.items() if offset >= log.log_start_offset}
        assert latest(log).keys() >= expected.keys()
        assert not [name for name in os.listdir(_directory(log)) if ".cleaned" in name or ".deleted" in name]
        log.config = config()
        fill(log, batch([(b"new", b"1")]))
        log._roll(NOW_MS)
        assert goes_on(clean(look_at(log, NOW_MS), NOW_MS, KEYS_BYTES_MAX))
        found = read_all(log)
        assert {record.key for record in found} == {*expected, b"new"}
        assert not log.is_offline


def test_cleaning_ends_with_the_policy(tmp_path: Path) -> None:
    """It is given up at the next step, even though nothing was removed."""
    ends = []
    for log, work in interrupted(tmp_path):
        log.config = config(cleanup_policy="delete")
        ends.append(goes_on(work))
    assert ends[1:] == [False] * (len(ends) - 2) + [True]


def test_a_topic_made_anew_while_the_old_one_is_cleaned_keeps_its_files(tmp_path: Path) -> None:
    """Even if it is being cleaned itself: both cleanings have files of the same names."""
    for steps, (log, work) in enumerate(interrupted(tmp_path)):
        log.delete()
        again = compacted(_directory(log))
        cleaning = clean(look_at(again, NOW_MS), NOW_MS, KEYS_BYTES_MAX)
        for _ in range(steps):
            next(cleaning, None)
        names = set(os.listdir(_directory(log)))
        goes_on(work)
        assert set(os.listdir(_directory(log))) == names
        assert goes_on(cleaning)
        assert set(latest(again)) == {b"all", b"last", *(b"%d" % number for number in range(4))}
        assert not again.is_offline
        again.close()


def test_what_is_removed_late_is_not_the_new_topics(tmp_path: Path) -> None:
    """Retention lets segments go, the topic is deleted and made anew, and only then the disk comes to it."""
    directory, worker = tmp_path / "orders-0", LateWorker()
    disk = new_disk()
    disk.worker = worker
    log = compacted(directory, disk)
    to_delete_all(log)
    log.delete()
    again = compacted(directory, disk)
    again.close()  # whatever is known of it is in the files
    names = {*os.listdir(directory), f"{0:020d}.txnindex"}
    (directory / f"{0:020d}.txnindex").write_bytes(b"")
    worker.drain()
    assert set(os.listdir(directory)) == names
    assert os.listdir(tmp_path) == ["orders-0"]


def _directory(log: Partition) -> Path:
    storage = log._storage
    assert isinstance(storage, DiskStorage)
    return Path(storage.directory)

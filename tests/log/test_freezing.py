"""A log put away, and logs that begin with it: each goes on by itself, and the bytes are there once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.freezing import freeze
from ottla.log.partition import Partition
from ottla.log.partition_answers import IsolationLevel
from ottla.log.storage.contract import StorageError
from ottla.log.storage.log_bytes import LogBytes
from ottla.log.storage.memory import CHUNK_BYTES_SMALL, FrozenLog, MemoryStorage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch
from ottla.protocol.records import batch_spans
from tests.log.partitions import GIB, NOW_MS, new_partition, produce


def opened(frozen: FrozenLog | None = None, log_bytes: LogBytes | None = None) -> Partition:
    """A log in memory, perhaps one that begins with another."""
    storage = MemoryStorage(log_bytes or LogBytes(GIB), NOW_MS)
    if frozen is not None:
        storage.begin_with(frozen)
    return new_partition(storage=storage, leader_epoch=0 if frozen is None else frozen.leader_epoch)


def append(log: Partition, value: bytes, producer_id: int = -1, sequence: int = -1) -> ErrorCode:
    """Append one record."""
    epoch = 0 if producer_id >= 0 else -1
    built = build_batch(
        [(None, value)], timestamp_ms=NOW_MS, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    return produce(log, built).error


def contents(log: Partition) -> list[bytes]:
    """Every batch, as it is read."""
    data = bytes(log.read(log.log_start_offset, GIB, IsolationLevel.READ_UNCOMMITTED).records)
    return [data[position : position + size] for position, size, _magic in batch_spans(data)]


@given(
    sizes=st.lists(st.sampled_from([1, 700, 100_000, CHUNK_BYTES_SMALL]), max_size=6),
    first=st.lists(st.sampled_from([1, 700, CHUNK_BYTES_SMALL]), max_size=4),
    second=st.lists(st.sampled_from([2, 900, CHUNK_BYTES_SMALL]), max_size=4),
)
def test_two_logs_that_go_on_from_one_do_not_see_each_other(
    sizes: list[int], first: list[int], second: list[int]
) -> None:
    """Whatever they append, however it lies in chunks; and the one that was put away can be taken out again."""
    log = opened()
    for size in sizes:
        append(log, b"a" * size)
    before = contents(log)
    frozen = freeze(log)
    other = opened(frozen)
    for one, size in [(log, size) for size in first] + [(other, size) for size in second]:
        append(one, (b"b" if one is log else b"c") * size)
    again = freeze(other)
    append(other, b"d")
    assert contents(opened(frozen)) == before
    assert contents(log)[: len(before)] == contents(other)[: len(before)] == before
    assert [b"b" * 1 in batch for batch in contents(log)[len(before) :]] == [True] * len(first)
    assert contents(opened(again)) == contents(other)[:-1]
    assert log.log_end_offset == len(sizes) + len(first)
    assert other.log_end_offset == len(sizes) + len(second) + 1


def test_bytes_are_shared_until_somebody_appends() -> None:
    log = opened()
    append(log, b"a" * 1000)
    other = opened(freeze(log))
    views = [one.read(0, GIB, IsolationLevel.READ_UNCOMMITTED).records for one in (log, other)]
    assert all(isinstance(view, memoryview) for view in views)
    assert views[0].obj is views[1].obj  # type: ignore[union-attr]


def test_producers_go_on_from_where_they_were() -> None:
    """A repeat is one still, and what the log that was put away has heard since is not known to the other."""
    log = opened()
    assert append(log, b"a", producer_id=7, sequence=0) is ErrorCode.NONE
    frozen = freeze(log)
    assert append(log, b"b", producer_id=7, sequence=1) is ErrorCode.NONE
    other = opened(frozen)
    assert append(other, b"a", producer_id=7, sequence=0) is ErrorCode.NONE
    assert other.log_end_offset == 1
    assert append(other, b"c", producer_id=7, sequence=2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(opened(frozen), b"b", producer_id=7, sequence=1) is ErrorCode.NONE


def test_start_of_the_log_and_its_epochs_are_kept() -> None:
    log = opened()
    for number in range(3):
        append(log, b"%d" % number)
    log.lead(5)
    append(log, b"3")
    log.delete_records(2)
    other = opened(freeze(log))
    assert (other.log_start_offset, other.log_end_offset, other.high_watermark) == (2, 4, 4)
    assert other.leader_epochs == log.leader_epochs
    assert other.offset_for_leader_epoch(0) == (0, 3)


def test_account_counts_each_log() -> None:
    """One that has no room for it is told so."""
    log = opened()
    append(log, b"a" * 1000)
    account = LogBytes(GIB)
    other = opened(freeze(log), account)
    assert account.bytes_held == other.size_bytes == log.size_bytes
    other.delete()
    assert account.bytes_held == 0
    with pytest.raises(StorageError, match="more bytes don't fit into"):
        opened(freeze(log), LogBytes(100))

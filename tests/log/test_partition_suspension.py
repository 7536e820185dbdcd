"""A batch that takes long to unpack: the task is suspended meanwhile, and what happens to the log then counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from ottla.log.partition import Partition
from ottla.log.partition_answers import AppendResult
from ottla.log.transaction_marker import TransactionMarker
from ottla.pacing import SLICE_SECONDS, Pace
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record
from ottla.protocol.records import read_header
from tests.log.partitions import NOW_MS, batch_of, new_partition, offsets_of, produce, read_all


@pytest.fixture
def loop() -> deque[Callable[[], None]]:
    """What the loop has to do in its next turns."""
    return deque()


@pytest.fixture
def pace(loop: deque[Callable[[], None]]) -> Iterator[Pace]:
    """Each look at the clock finds that the slice is over."""
    ticks = count()
    pace = Pace(loop.append, lambda: next(ticks) * SLICE_SECONDS)
    yield pace
    pace.close()


def packed(*values: bytes) -> bytes:
    records = [Record(index, NOW_MS, b"key", value) for index, value in enumerate(values)]
    return build_batch_of(records, base_offset=0, compression=CompressionType.GZIP)


def begin(pace: Pace, partition: Partition, batch: bytes, answers: list[AppendResult]) -> None:
    """Produce, until the task is suspended."""
    done = len(answers)
    pace.run(lambda: answers.append(produce(partition, batch)))
    assert len(answers) == done, "it was not suspended"


def turn(loop: deque[Callable[[], None]], pace: Pace) -> None:
    while not pace.is_settled:
        loop.popleft()()


@pytest.mark.parametrize("configs", [{}, {"compression.type": "zstd"}], ids=["as sent", "compressed anew"])
def test_batches_unpacked_at_the_same_time_lie_one_behind_the_other(
    configs: dict[str, str], loop: deque[Callable[[], None]], pace: Pace
) -> None:
    """Each gets its place when it is appended, not when its check begins."""
    partition, answers = new_partition(configs), list[AppendResult]()
    begin(pace, partition, packed(b"1", b"2", b"3"), answers)
    begin(pace, partition, packed(b"4", b"5"), answers)
    partition.lead(7)
    turn(loop, pace)
    assert sorted((answer.base_offset, answer.last_offset) for answer in answers) in (
        [(0, 2), (3, 4)],
        [(0, 1), (2, 4)],
    )
    assert offsets_of(read_all(partition)) == [0, 1, 2, 3, 4]
    (segment,) = partition.segments
    assert {read_header(batch).partition_leader_epoch for batch in segment.batches()} == {7}


def test_a_log_that_is_deleted_meanwhile_takes_nothing(loop: deque[Callable[[], None]], pace: Pace) -> None:
    partition, answers = new_partition(), list[AppendResult]()
    begin(pace, partition, packed(b"1"), answers)
    partition.delete()
    turn(loop, pace)
    assert [answer.error for answer in answers] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_nothing_is_suspended_between_the_checks_of_a_log_and_the_append(pace: Pace) -> None:
    """However large the batch is."""
    partition, answers = new_partition(), list[AppendResult]()
    batch = batch_of(20_000)
    header = read_header(batch)

    def append() -> None:
        answers.append(partition.append_prepared(batch, header, NOW_MS, NOW_MS))
        answers.append(partition.append_internal(batch, NOW_MS))
        answers.append(partition.append_marker(TransactionMarker(is_commit=True, coordinator_epoch=0), 7, 0, 0, NOW_MS))

    pace.run(append)
    assert [answer.base_offset for answer in answers] == [0, 20_000, 40_000]

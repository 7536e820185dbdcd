"""A batch with thousands of records is looked at in slices, and its log may move meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from ottla.log.partition import Partition
from ottla.log.partition_answers import AppendResult
from ottla.pacing import Pace
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_validation import only_batch
from ottla.protocol.records import BATCH_OVERHEAD, BatchHeader, batch_spans, read_header
from tests.log.partitions import NOW_MS, batch_of, fill, new_partition, produce
from tests.support.batches import batch, stored

RECORDS = 2_500


class Slices:
    """A loop in whose turns a worker comes as far as its next breath."""

    def __init__(self) -> None:
        self._soon: list[Callable[[], None]] = []
        seconds = count()
        self._pace = Pace(self._soon.append, now=lambda: float(next(seconds)))

    def begin(self, task: Callable[[], None]) -> None:
        self._pace.run(task)
        assert not self._pace.is_settled, "it took no breath"

    def finish(self) -> None:
        self._pace.close()


def begin_to_append(partition: Partition, records: bytes) -> tuple[Slices, list[AppendResult]]:
    """Someone who is at it, and what comes of it."""
    slices, results = Slices(), list[AppendResult]()
    header, batch = only_batch(records, 11)
    slices.begin(lambda: results.append(partition.append_as_leader(batch, header, NOW_MS)))
    return slices, results


def compressed(records: bytes) -> bytes:
    """The same batch, by gzip."""
    packed = stored(1, records[BATCH_OVERHEAD:])
    return batch(payload=packed, attributes=1, count=RECORDS, last_offset_delta=RECORDS - 1)


def headers(partition: Partition) -> list[BatchHeader]:
    """Of all batches in the log."""
    records = partition.read(0, 1 << 20).records
    return [read_header(records, span.position) for span in batch_spans(records)]


@pytest.mark.parametrize("kept", ["producer", "gzip", "uncompressed"])
def test_others_append_meanwhile(kept: str) -> None:
    """Each batch has its own offsets, in the order in which they got into the log."""
    partition = new_partition({"compression.type": kept})
    records = batch_of(RECORDS) if kept == "producer" else compressed(batch_of(RECORDS))
    slices, results = begin_to_append(partition, records)
    fill(partition, batch_of(3))
    slices.finish()
    fill(partition, batch_of(1))
    assert [result.base_offset for result in results] == [3]
    assert [(header.base_offset, header.last_offset) for header in headers(partition)] == [
        (0, 2),
        (3, 2502),
        (2503, 2503),
    ]


def test_a_new_leader_epoch_meanwhile() -> None:
    """The batch is in the log under the epoch in which it got there."""
    partition = new_partition()
    slices, _ = begin_to_append(partition, batch_of(RECORDS))
    partition.lead(4)
    slices.finish()
    assert [header.partition_leader_epoch for header in headers(partition)] == [4]


def test_the_log_is_deleted_meanwhile() -> None:
    partition = new_partition()
    slices, results = begin_to_append(partition, batch_of(RECORDS))
    partition.delete()
    slices.finish()
    assert [result.error for result in results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert produce(partition, batch_of(1)).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

"""What compaction makes of a batch: the same batch with fewer records, or with none.

Offsets, sequence numbers, producer and leader epoch stay what they were, gaps or no gaps, so that readers of the log
find everything at its old place. The records are encoded anew, since their timestamps count from the first one that is
left: or from the *delete horizon*, which then stands in the place of the base timestamp:

    base_timestamp, flag 6 clear    the first record's timestamp
    base_timestamp, flag 6 set      when the tombstones in this batch, or its transaction marker, may go

Kafka: MemoryRecords.filterTo, MemoryRecords.buildRetainedRecordsInto, DefaultRecordBatch.writeEmptyHeader.
"""

from __future__ import annotations

from typing import Final

from ottla.protocol.compression import CompressionType
from ottla.protocol.record_building import assemble, encode_record
from ottla.protocol.record_reading import Record
from ottla.protocol.records import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)

_KEPT_FLAGS: Final = TIMESTAMP_TYPE_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


class ThinnedBatch:
    """The batch that `header` is of, with those of its records that are added, in order.

    `delete_horizon_ms`: the horizon it has, or is to have; None: neither.
    """

    __slots__ = ("_base_timestamp", "_delete_horizon_ms", "_encoded", "_header", "max_timestamp")

    def __init__(self, header: BatchHeader, first: Record, delete_horizon_ms: int | None) -> None:
        self._header = header
        self._delete_horizon_ms = delete_horizon_ms
        self._base_timestamp = first.timestamp if delete_horizon_ms is None else delete_horizon_ms
        self._encoded: list[bytes] = []
        self.max_timestamp = NO_TIMESTAMP

    def add(self, record: Record) -> None:
        self._encoded.append(encode_record(record, self._header.base_offset, self._base_timestamp))
        self.max_timestamp = max(self.max_timestamp, record.timestamp)

    def build(self) -> bytes:
        codec = CompressionType.of(self._header.compression)
        horizon_flag = 0 if self._delete_horizon_ms is None else DELETE_HORIZON_FLAG
        timestamps = self._base_timestamp, self.max_timestamp
        return _rewritten(self._header, self._encoded, codec, horizon_flag, timestamps)


def empty_batch(header: BatchHeader) -> bytes:
    """The batch without its records: what is left of it are its offsets and its sequence numbers."""
    return _rewritten(header, [], CompressionType.NONE, 0, (NO_TIMESTAMP, header.max_timestamp))


def _rewritten(
    header: BatchHeader,
    encoded: list[bytes],
    codec: CompressionType,
    horizon_flag: int,
    timestamps: tuple[int, int],
) -> bytes:
    place = header.base_offset, header.partition_leader_epoch
    attributes = header.attributes & _KEPT_FLAGS | horizon_flag
    producer = header.producer_id, header.producer_epoch, header.base_sequence
    return assemble(
        encoded, codec, None, place, attributes, (header.last_offset_delta, *timestamps, *producer, len(encoded))
    )

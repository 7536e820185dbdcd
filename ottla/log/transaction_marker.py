"""The control batch that ends a transaction on a partition: one record that says commit or abort.

    key     version i16 = 0 │ type i16: 0 abort, 1 commit
    value   version i16 = 0 │ coordinator epoch i32

It takes one offset of the log. The epoch lets a partition refuse a coordinator that was replaced.
Kafka: EndTransactionMarker, ControlRecordType.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, NamedTuple

from ottla.protocol.batch_error import BatchError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_building import build_batch
from ottla.protocol.record_reading import read_records
from ottla.protocol.records import BatchHeader

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
#: All partitions of a transaction get the same batch, one after the other.
_REMEMBERED_MAX: Final = 4
_NOBODY: Final = -1


class TransactionMarker(NamedTuple):
    """How a transaction ended, and the epoch of its coordinator."""

    is_commit: bool
    coordinator_epoch: int


class EndedTransaction(NamedTuple):
    """A transaction that is over, as a coordinator tells the partitions that were part of it."""

    producer_id: int
    producer_epoch: int
    marker: TransactionMarker
    transaction_version: int

    @property
    def is_of_nobody(self) -> bool:
        """Whether it names no producer. Kafka throws then when it builds the batch."""
        return _NOBODY in (self.producer_id, self.producer_epoch)


@lru_cache(_REMEMBERED_MAX)
def build_marker(marker: TransactionMarker, producer_id: int, producer_epoch: int, timestamp_ms: int) -> bytes:
    """The control batch for one producer's transaction."""
    key, value = _KEY.pack(0, marker.is_commit), _VALUE.pack(0, marker.coordinator_epoch)
    return build_batch(
        [(key, value)],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def read_marker(batch: Buffer, header: BatchHeader) -> TransactionMarker | None:
    """What a control batch says. None when compaction has emptied it. Raises `BatchError` for one that says nothing."""
    for record in read_records(batch, header):
        try:
            _, kind = _KEY.unpack_from(record.key or b"")
            _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
        except struct.error:
            raise BatchError(ErrorCode.INVALID_RECORD, "a control record is cut short") from None
        return TransactionMarker(kind == 1, coordinator_epoch)
    return None

"""What a log knows beside its batches, in Kafka's files: its producers, and the aborted transactions of a segment.

    <offset>.snapshot     the producers as they are before that offset: version, checksum, one entry for each
    <base>.txnindex       the aborted transactions whose markers are in that segment, one entry for each

Of a producer its last batch is kept. One that sends an earlier batch again after a clean restart is told that it is
out of order; after a crash the batches since the snapshot are read, and with them the last five.
Kafka: ProducerStateManager.writeSnapshot, ProducerSnapshot.json, TransactionIndex, AbortedTxn.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import TYPE_CHECKING, Final

from ottla.log.storage.segment import AbortedTransaction
from ottla.protocol.crc32c import crc32c

if TYPE_CHECKING:
    from ottla.log.producer_entry import ProducerEntry

SNAPSHOT_SUFFIX: Final = ".snapshot"
TXN_INDEX_SUFFIX: Final = ".txnindex"

_SNAPSHOT_VERSION: Final = 1
_TXN_VERSION: Final = 0
_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")
_ABORTED: Final = Struct(">hqqqq")
_NONE: Final = -1
#: Sequence numbers go from 0 to 2147483647, and then begin anew.
_SEQUENCES: Final = 2**31


def encode_producers(producers: Iterable[ProducerEntry]) -> bytes:
    """The content of a snapshot file."""
    entries = []
    for producer in producers:
        last = producer.batches[-1] if producer.batches else None
        entries.append(
            _ENTRY.pack(
                producer.producer_id,
                producer.producer_epoch,
                last.last_sequence if last else _NONE,
                last.last_offset if last else _NONE,
                last.last_offset - last.first_offset if last else 0,
                producer.last_timestamp,
                producer.coordinator_epoch,
                _NONE if producer.transaction_first_offset is None else producer.transaction_first_offset,
            )
        )
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _HEAD.pack(_SNAPSHOT_VERSION, crc32c(body)) + body


def decode_producers(data: bytes) -> list[ProducerEntry] | None:
    """The producers in a snapshot file; None if it is damaged or of another version."""
    from ottla.log.producer_entry import NumberedBatch, ProducerEntry

    if len(data) < _HEAD.size + _COUNT.size:
        return None
    version, checksum = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    (count,) = _COUNT.unpack_from(body)
    if version != _SNAPSHOT_VERSION or checksum != crc32c(body) or len(body) != _COUNT.size + count * _ENTRY.size:
        return None
    producers = []
    for entry in _ENTRY.iter_unpack(body[_COUNT.size :]):
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first_offset = entry
        batches = []
        if last_offset >= 0:
            first_sequence = _NONE if last_sequence == _NONE else (last_sequence - delta) % _SEQUENCES
            batches = [NumberedBatch(first_sequence, last_sequence, last_offset - delta, last_offset, timestamp)]
        producers.append(
            ProducerEntry(
                producer_id,
                epoch,
                coordinator_epoch,
                timestamp,
                None if first_offset == _NONE else first_offset,
                batches,
            )
        )
    return producers


def encode_aborted(aborted: Iterable[AbortedTransaction]) -> bytes:
    """The content of a transaction index."""
    return b"".join(_ABORTED.pack(_TXN_VERSION, *transaction) for transaction in aborted)


def decode_aborted(data: bytes) -> list[AbortedTransaction] | None:
    """What is in a transaction index; None if it is damaged or of another version."""
    if len(data) % _ABORTED.size:
        return None
    entries = list(_ABORTED.iter_unpack(data))
    if any(version != _TXN_VERSION for version, *_ in entries):
        return None
    return [AbortedTransaction(*entry) for _, *entry in entries]

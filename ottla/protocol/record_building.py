"""Making record batches (magic 2), byte for byte as Kafka makes them from the same records.

`build_batch` is for the broker's own logs, where one batch holds a few pairs of key and value written at one instant.
It runs for every committed offset, so it is laid out for speed: about 1.2 µs for one pair and 0.35 µs for each further
one, where aiokafka's C coder takes 0.7 and 0.2. `build_batch_of` takes records with their own timestamps and headers,
as a batch that is compressed anew has them.

Kafka: MemoryRecordsBuilder, DefaultRecord.writeTo.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, TypeAlias

from ottla.pacing import paced
from ottla.protocol.compression import CompressionType, compress
from ottla.protocol.crc32c import crc32c
from ottla.protocol.record_reading import Record, wrapped
from ottla.protocol.records import NO_TIMESTAMP
from ottla.protocol.varint import SHORT_VARINTS, varint

KeyValue: TypeAlias = tuple[bytes | None, bytes | None]

_NOT_CHECKSUMMED: Final = struct.Struct(">qiibI")
_CHECKSUMMED: Final = struct.Struct(">hiqqqhii")
#: What batch_length counts of the part before the checksummed one: leader epoch, magic, crc.
_COUNTED_BYTES: Final = 9
_MAGIC: Final = 2
_SHORT_MAX: Final = len(SHORT_VARINTS)


def build_batch(
    records: Sequence[KeyValue],
    *,
    timestamp_ms: int,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    compression: CompressionType = CompressionType.NONE,
    compression_level: int | None = None,
) -> bytes:
    """One batch of these records, without headers, all created at `timestamp_ms`, at offsets from `base_offset` on."""
    short = SHORT_VARINTS
    parts: list[bytes] = []
    count = 0
    for key, value in paced(records):
        # Attributes and timestamp delta are 0, and so is the number of headers.
        body = b"\0\0" + (short[count] if count < _SHORT_MAX else varint(count))
        if key is None:
            body += b"\1"
        else:
            size = len(key)
            body += (short[size] if size < _SHORT_MAX else varint(size)) + key
        if value is None:
            body += b"\1\0"
        else:
            size = len(value)
            body += (short[size] if size < _SHORT_MAX else varint(size)) + value + b"\0"
        size = len(body)
        parts += (short[size] if size < _SHORT_MAX else varint(size), body)
        count += 1
    if not parts:
        raise ValueError("a batch needs at least one record")
    return assemble(
        parts,
        compression,
        compression_level,
        (base_offset, partition_leader_epoch),
        is_transactional << 4 | is_control << 5,
        (count - 1, timestamp_ms, timestamp_ms, producer_id, producer_epoch, base_sequence, count),
    )


def build_batch_of(
    records: Sequence[Record],
    *,
    base_offset: int,
    log_append_time_ms: int | None = None,
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    compression: CompressionType = CompressionType.NONE,
    compression_level: int | None = None,
) -> bytes:
    """One batch of these records, whose offsets rise from `base_offset` or later on, perhaps with gaps.

    With `log_append_time_ms` the batch says that the broker's clock counts, and the records keep their own deltas.
    """
    base_timestamp = records[0].timestamp
    parts = [encode_record(record, base_offset, base_timestamp) for record in records]
    latest = max(NO_TIMESTAMP, *(record.timestamp for record in records))
    max_timestamp = latest if log_append_time_ms is None else log_append_time_ms
    attributes = is_transactional << 4 | is_control << 5 | (log_append_time_ms is not None) << 3
    last_offset_delta, count = records[-1].offset - base_offset, len(records)
    return assemble(
        parts,
        compression,
        compression_level,
        (base_offset, partition_leader_epoch),
        attributes,
        (last_offset_delta, base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count),
    )


def encode_record(record: Record, base_offset: int, base_timestamp: int) -> bytes:
    """A record as it stands in a batch, with its length before it."""
    pieces = [b"\0", varint(wrapped(record.timestamp - base_timestamp)), varint(record.offset - base_offset)]
    pieces += _sized(record.key)
    pieces += _sized(record.value)
    pieces.append(varint(len(record.headers)))
    for name, content in record.headers:
        pieces += _sized(name.encode())
        pieces += _sized(content)
    body = b"".join(pieces)
    return varint(len(body)) + body


def _sized(data: bytes | None) -> tuple[bytes, ...]:
    return (b"\1",) if data is None else (varint(len(data)), data)


def assemble(
    parts: list[bytes],
    compression: CompressionType,
    compression_level: int | None,
    place: tuple[int, int],
    attributes: int,
    fields: tuple[int, int, int, int, int, int, int],
) -> bytes:
    """Put the header before the encoded records. `place` and `fields` are its fields in order, before and after crc."""
    payload = b"".join(parts)
    if compression:
        payload = compress(compression, payload, compression_level)
    covered = _CHECKSUMMED.pack(attributes | compression, *fields) + payload
    base_offset, partition_leader_epoch = place
    length = len(covered) + _COUNTED_BYTES
    return _NOT_CHECKSUMMED.pack(base_offset, length, partition_leader_epoch, _MAGIC, crc32c(covered)) + covered

"""Record batches (magic 2) as bytes: finding them in a buffer, reading their header, changing what a broker changes.

     0 base_offset i64             12 partition_leader_epoch i32    27 base_timestamp i64     51 producer_epoch i16
     8 batch_length i32            16 magic i8                      35 max_timestamp i64      53 base_sequence i32
       (of what follows)           17 crc u32                       43 producer_id i64        57 records_count i32
                                   21 attributes i16, 23 last_offset_delta i32                61 records…

    attributes: 0–2 compression │ 3 log append time │ 4 transactional │ 5 control │ 6 base_timestamp is a delete horizon

The checksum covers byte 21 to the end. So a broker may set the offset and the leader epoch of a batch without touching
it, and needs a new one when it changes the timestamp. Nothing here looks into the records: `record_scan` checks them,
`record_reading` decodes them, `record_building` makes new batches.

Kafka: DefaultRecordBatch, ByteBufferLogInputStream.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.protocol.batch_error import BatchError
from ottla.protocol.crc32c import crc32c
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Buffer

#: base_offset and batch_length: what batch_length does not count.
LOG_OVERHEAD: Final = 12
#: The header of a batch, up to its first record.
BATCH_OVERHEAD: Final = 61
#: Where the bytes under the checksum begin.
CHECKSUMMED_AT: Final = 21
#: How large a record in a compressed batch may be without a setting: what Java can allocate, which is no limit.
RECORD_BYTES_MAX: Final = 2**31 - 9
NO_TIMESTAMP: Final = -1
#: The last date a record can have.
TIMESTAMP_MAX: Final = 2**63 - 1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_SIZE_AND_MAGIC: Final = struct.Struct(">iib")
_LEADER_EPOCH: Final = struct.Struct(">i")
_pack_place: Final = struct.Struct(">qii").pack
_CRC: Final = struct.Struct(">I")
_ATTRIBUTES: Final = struct.Struct(">h")
_MAX_TIMESTAMP: Final = struct.Struct(">q")
#: The smallest message there ever was: magic 0 without key and value.
_LEGACY_OVERHEAD: Final = 14
_MAGIC_AT: Final = 16
_SEQUENCE_MAX: Final = 2**31 - 1


class TimestampType(IntEnum):
    """Whose clock a record's timestamp is from: the producer's or the broker's."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


#: The same, for what is asked with each batch: to find it in its class takes as long as a call.
CREATE_TIME: Final = TimestampType.CREATE_TIME
LOG_APPEND_TIME: Final = TimestampType.LOG_APPEND_TIME


class BatchHeader(NamedTuple):
    """The header as it was when it was read: patching the bytes later does not change it."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """Of the whole batch, header included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """The offset of the batch's last record when it was written; compaction may have removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def compression(self) -> int:
        """The codec's number, 0–7; `CompressionType.of` refuses the unassigned ones."""
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_FLAG else CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record: after 2147483647 comes 0. -1 without a base_sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and transaction markers in this batch may go. `None`: the cleaner has not set it yet."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None


def increment_sequence(sequence: int, increment: int) -> int:
    """A producer's sequence number `increment` records later."""
    following = sequence + increment
    return following if following <= _SEQUENCE_MAX else following - _SEQUENCE_MAX - 1


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header of the batch that starts at `position`, its values unchecked. Too few bytes are CORRUPT_MESSAGE."""
    try:
        return BatchHeader._make(_HEADER.unpack_from(buffer, position))
    except struct.error:
        size_bytes = len(buffer) - position
        message = f"{size_bytes} bytes are fewer than the {BATCH_OVERHEAD} of a batch header"
        raise BatchError(ErrorCode.CORRUPT_MESSAGE, message) from None


class BatchSpan(NamedTuple):
    """Where a batch lies in a buffer. With magic 0 or 1 it is one message, perhaps a wrapper of compressed ones."""

    position: int
    size_bytes: int
    magic: int


def batch_spans(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[BatchSpan]:
    """The complete batches from `position` on, of any magic. Rests that form no complete batch are left out silently.

    CORRUPT_MESSAGE for a size below any message's or a magic above 2, as far as the bytes for them are there.
    """
    end = len(buffer) if end is None else end
    while end - position > _MAGIC_AT:
        batch_length, _, magic = _SIZE_AND_MAGIC.unpack_from(buffer, position + 8)
        _check_length(batch_length)
        if not 0 <= magic <= 2:
            raise BatchError(ErrorCode.CORRUPT_MESSAGE, f"magic {magic} is unknown")
        size_bytes = LOG_OVERHEAD + batch_length
        if size_bytes > end - position:
            return
        yield BatchSpan(position, size_bytes, magic)
        position += size_bytes
    if end - position >= LOG_OVERHEAD:
        _check_length(_LEADER_EPOCH.unpack_from(buffer, position + 8)[0])


def _check_length(batch_length: int) -> None:
    if batch_length < _LEGACY_OVERHEAD:
        message = f"batch_length {batch_length} is less than the {_LEGACY_OVERHEAD} bytes of the smallest message"
        raise BatchError(ErrorCode.CORRUPT_MESSAGE, message)


def checksum_matches(buffer: Buffer, header: BatchHeader, position: int = 0) -> bool:
    """Whether the bytes at `position` still are those that `header.crc` was computed over."""
    checksummed = memoryview(buffer)[position + CHECKSUMMED_AT : position + LOG_OVERHEAD + header.batch_length]
    return crc32c(checksummed) == header.crc


def placed_head(size_bytes: int, base_offset: int, partition_leader_epoch: int) -> bytes:
    """The first bytes of a batch of this size that has its place in the log. The checksum stays right."""
    return _pack_place(base_offset, size_bytes - LOG_OVERHEAD, partition_leader_epoch)


def assign_timestamp(
    batch: bytearray | memoryview, header: BatchHeader, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Set the batch's timestamp type and max_timestamp, and renew its checksum if that changes anything.

    With LOG_APPEND_TIME `max_timestamp` is what every record's timestamp then reads as. `batch` is the batch and
    nothing else. Unused attribute bits are cleared, as in Kafka's DefaultRecordBatch.setMaxTimestamp.
    """
    if header.timestamp_type is timestamp_type and header.max_timestamp == max_timestamp:
        return
    used = COMPRESSION_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG | DELETE_HORIZON_FLAG
    _ATTRIBUTES.pack_into(batch, CHECKSUMMED_AT, header.attributes & used | timestamp_type << 3)
    _MAX_TIMESTAMP.pack_into(batch, 35, max_timestamp)
    _CRC.pack_into(batch, 17, crc32c(memoryview(batch)[CHECKSUMMED_AT:]))

"""Messages of magic 0 and 1, which logs written before Kafka 0.11 may hold. Kafka 4 serves them and takes no new ones.

    offset i64 │ size i32 │ crc u32 │ magic i8 │ attributes i8 │ timestamp i64 (magic 1) │ key i32 + … │ value i32 + …

There are no batches: what is compressed is a message whose value holds messages, one level deep. With magic 0 the
inner offsets are absolute, with magic 1 they count up to the wrapper's. A wrapper of LogAppendTime gives its timestamp
to all. The checksum is CRC-32 over all that follows it. `records.batch_spans` finds these messages in a log.

Kafka: LegacyRecord, AbstractLegacyRecordBatch.DeepRecordsIterator.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import DECOMPRESSED_BYTES_MAX, CompressionType, decompress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import Record
from ottla.protocol.records import (
    COMPRESSION_MASK,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    batch_spans,
)
from ottla.protocol.varint import Buffer

_HEADER: Final = struct.Struct(">qiIbb")
_TIMESTAMP: Final = struct.Struct(">q")
_LENGTH: Final = struct.Struct(">i")
_CHECKSUMMED_AT: Final = 16


class LegacyMessage(NamedTuple):
    """One message, wrapper or not, key and value undecoded where they lie."""

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    key: Buffer | None
    value: Buffer | None

    @property
    def size_bytes(self) -> int:
        """Of the whole message, offset and size included."""
        return LOG_OVERHEAD + self.size

    @property
    def is_append_time(self) -> bool:
        return self.magic > 0 and self.attributes & TIMESTAMP_TYPE_FLAG != 0


def read_message(buffer: Buffer, position: int = 0) -> LegacyMessage:
    """The message that starts at `position`, complete in the buffer. INVALID_RECORD if its fields don't fit in it."""
    offset, size, crc, magic, attributes = _HEADER.unpack_from(buffer, position)
    message = memoryview(buffer)[position : position + LOG_OVERHEAD + size]
    at = _HEADER.size
    timestamp = NO_TIMESTAMP
    try:
        if magic > 0:
            (timestamp,) = _TIMESTAMP.unpack_from(message, at)
            at += _TIMESTAMP.size
        key, at = _read_bytes(message, at)
        value, at = _read_bytes(message, at)
    except struct.error:
        raise BatchError(ErrorCode.INVALID_RECORD, "a message is shorter than its fields") from None
    return LegacyMessage(offset, size, crc, magic, attributes, timestamp, key, value)


def message_checksum_matches(buffer: Buffer, position: int = 0) -> bool:
    """Whether the message at `position` is what its CRC-32 was computed over."""
    _, size, crc, _, _ = _HEADER.unpack_from(buffer, position)
    return bool(zlib.crc32(memoryview(buffer)[position + _CHECKSUMMED_AT : position + LOG_OVERHEAD + size]) == crc)


def read_messages(buffer: Buffer, position: int = 0, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of the one message at `position`: itself, or those it wraps. Raises `BatchError`."""
    wrapper = read_message(buffer, position)
    codec = CompressionType.of(wrapper.attributes)
    if codec is CompressionType.NONE:
        yield _record(wrapper, wrapper.offset, wrapper.timestamp)
        return
    if wrapper.value is None or codec is CompressionType.ZSTD:
        raise BatchError(ErrorCode.INVALID_RECORD, "a wrapper message needs a value, and any codec but zstd")
    data = decompress(codec, wrapper.value, limit_bytes, magic=wrapper.magic)
    inner = [read_message(data, span.position) for span in batch_spans(data)]
    if not inner or any(message.attributes & COMPRESSION_MASK for message in inner):
        raise BatchError(ErrorCode.INVALID_RECORD, "a wrapper message must hold messages, and these not compressed")
    base_offset = _base_offset(wrapper, inner[-1].offset)
    for message in inner:
        timestamp = wrapper.timestamp if message.magic > 0 and wrapper.is_append_time else message.timestamp
        yield _record(message, base_offset + message.offset, timestamp)


def _base_offset(wrapper: LegacyMessage, last_inner_offset: int) -> int:
    """What to add to the inner offsets. A wrapper offset of 0 is what some librdkafka versions produced."""
    if wrapper.magic == 0 or wrapper.offset == 0:
        return 0
    if wrapper.offset < last_inner_offset:
        message = f"the wrapper's offset {wrapper.offset} is below its last message's {last_inner_offset}"
        raise BatchError(ErrorCode.INVALID_RECORD, message)
    return wrapper.offset - last_inner_offset


def _record(message: LegacyMessage, offset: int, timestamp: int) -> Record:
    key = None if message.key is None else bytes(message.key)
    value = None if message.value is None else bytes(message.value)
    return Record(offset, timestamp, key, value)


def _read_bytes(message: memoryview, position: int) -> tuple[memoryview | None, int]:
    (length,) = _LENGTH.unpack_from(message, position)
    position += _LENGTH.size
    if length < 0:
        return None, position
    end = position + length
    if end > len(message):
        raise BatchError(ErrorCode.INVALID_RECORD, f"a message claims {length} bytes more than it has")
    return message[position:end], end

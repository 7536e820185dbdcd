"""Decoding the records of a batch in full: keys, values, headers, offsets, timestamps.

For tools, for internal topics, for finding an offset by its timestamp, and for batches that are compressed anew. The
produce path has `record_scan`, which looks at less and is several times faster.

Kafka: DefaultRecordBatch.iterator, DefaultRecord.readFrom.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from ottla.pacing import charge_records, paced
from ottla.protocol.batch_error import BatchError, RequestLimitError
from ottla.protocol.compression import DECOMPRESSED_BYTES_MAX, decompress
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Buffer
from ottla.protocol.records import BATCH_OVERHEAD, RECORD_BYTES_MAX, BatchHeader, TimestampType
from ottla.protocol.varint import VarintError, read_varint, read_varlong

#: A header's value may be null. Keys ought to be UTF-8; U+FFFD stands for what isn't, as it does in Kafka.
RecordHeaders: TypeAlias = tuple[tuple[str, bytes | None], ...]

_INT64_HALF: Final = 2**63
_INT64_MASK: Final = 2**64 - 1
#: A varint's first byte without these bits is all of it, and twice the number it stands for.
_LONG_OR_NEGATIVE: Final = 0x81


class Record(NamedTuple):
    """One record with absolute offset and timestamp. A null value is a tombstone."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: RecordHeaders = ()


def read_records(
    batch: Buffer,
    header: BatchHeader,
    limit_bytes: int = DECOMPRESSED_BYTES_MAX,
    *,
    record_bytes_max: int = RECORD_BYTES_MAX,
    check_sizes: bool = True,
) -> Iterator[Record]:
    """Yield the records of `batch`, which holds this one batch and nothing else. Raises `BatchError` at a wrong one.

    A batch emptied by compaction yields nothing. `record_bytes_max` is for compressed batches alone, and counts the
    length that a record claims. `check_sizes=False` lets records pass that have another length than they claim, as
    Kafka's partial reader does.
    """
    count = header.records_count
    if count < 0:
        raise BatchError(ErrorCode.INVALID_RECORD, f"a batch can't have {count} records")
    if count == 0:
        return
    if header.compression and not charge_records(count):
        raise RequestLimitError("records")
    data = bytes(decompress(header.compression, memoryview(batch)[BATCH_OVERHEAD:], limit_bytes))
    log_append_time = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    position = 0
    for index in paced(range(count)):
        try:
            size, position = _read_size(data, position, header.compression)
            if header.compression and not 0 <= size <= record_bytes_max:
                message = f"record {index} claims {size} bytes, and may have {record_bytes_max}"
                raise BatchError(ErrorCode.INVALID_RECORD, message)
            record, end = _read_record(data, position, header, log_append_time)
        except (IndexError, VarintError):
            message = f"record {index} of {count} is cut short or has a varint without end"
            raise BatchError(ErrorCode.INVALID_RECORD, message) from None
        if check_sizes and end - position != size:
            message = f"record {index} has {end - position} bytes where it claims {size}"
            raise BatchError(ErrorCode.INVALID_RECORD, message)
        yield record
        position = end
    if position != len(data):
        message = f"{count} records end at byte {position} of {len(data)}"
        raise BatchError(ErrorCode.INVALID_RECORD, message)


def _read_size(data: bytes, position: int, compression: int) -> tuple[int, int]:
    """The length a record claims. Where Kafka reads it uncompressed, a varint without end has no error code."""
    try:
        return read_varint(data, position)
    except VarintError as error:
        if compression:
            raise
        raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None


def _read_record(data: bytes, position: int, header: BatchHeader, log_append_time: int | None) -> tuple[Record, int]:
    timestamp_delta, position = read_varlong(data, position + 1)  # past the attributes, which mean nothing yet
    offset_delta, position = read_varint(data, position)
    key, position = _read_bytes(data, position)
    value, position = _read_bytes(data, position)
    headers: RecordHeaders = ()
    if data[position]:
        headers, position = _read_headers(data, position)
    else:
        position += 1
    timestamp = wrapped(header.base_timestamp + timestamp_delta) if log_append_time is None else log_append_time
    return Record(header.base_offset + offset_delta, timestamp, key, value, headers), position


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = read_varint(data, position)
    if length < 0:
        return None, position
    end = position + length
    if end > len(data):
        raise IndexError
    return data[position:end], end


def _read_headers(data: bytes, position: int) -> tuple[RecordHeaders, int]:
    count, position = _read_header_count(data, position)
    headers = []
    for _ in range(count):
        key, position = _read_bytes(data, position)
        if key is None:
            raise BatchError(ErrorCode.INVALID_RECORD, "a record header's key is null")
        value, position = _read_bytes(data, position)
        headers.append((key.decode("utf-8", "replace"), value))
    return tuple(headers), position


def _read_header_count(data: Buffer, position: int) -> tuple[int, int]:
    count, position = read_varint(data, position)
    if count < 0:
        raise BatchError(ErrorCode.INVALID_RECORD, f"a record can't have {count} headers")
    return count, position


def skip_headers(data: Buffer, position: int) -> int:
    """Check the headers whose count stands at `position`; returns the position after them, perhaps past the end."""
    count, position = _read_header_count(data, position)
    for _ in range(count):
        byte = data[position]
        if byte & _LONG_OR_NEGATIVE:
            length, position = read_varint(data, position)
            if length < 0:
                raise BatchError(ErrorCode.INVALID_RECORD, "a record header's key is null")
            position += length
        else:
            position += 1 + (byte >> 1)
        byte = data[position]
        if byte & _LONG_OR_NEGATIVE:
            length, position = read_varint(data, position)
            position += max(length, 0)
        else:
            position += 1 + (byte >> 1)
    return position


def wrapped(timestamp: int) -> int:
    """The sum as Kafka's 64-bit arithmetic has it: past the largest comes the smallest."""
    return (timestamp + _INT64_HALF & _INT64_MASK) - _INT64_HALF


def first_offset_at(
    batch: Buffer,
    header: BatchHeader,
    timestamp: int,
    start_offset: int = 0,
    record_bytes_max: int = RECORD_BYTES_MAX,
) -> tuple[int, int] | None:
    """The first record from `start_offset` on that is not older than `timestamp`, as (offset, its timestamp).

    What ListOffsets asks of a batch. Kafka: FileRecords.searchForTimestamp.
    """
    for record in read_records(batch, header, record_bytes_max=record_bytes_max):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return record.offset, record.timestamp
    return None


def offset_of_max_timestamp(batch: Buffer, header: BatchHeader, record_bytes_max: int = RECORD_BYTES_MAX) -> int | None:
    """The first record that has the batch's max_timestamp. Kafka: RecordBatch.offsetOfMaxTimestamp."""
    for record in read_records(batch, header, record_bytes_max=record_bytes_max):
        if record.timestamp == header.max_timestamp:
            return record.offset
    return None

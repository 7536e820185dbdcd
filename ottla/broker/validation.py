"""What a broker checks in a produced batch before it looks at the log, and what it changes in it.

Two steps, since Kafka does other things between them:

    produced_batch   the records field of a Produce request holds exactly one batch of magic 2 (before topic, leader and
                     transaction are looked at)
    validate         this batch is what it says it is and what its topic takes (before offsets and producer are)

The order of the checks is Kafka's, because a batch with two faults is answered for the first. Records are only walked
over; they are decoded when a batch is compressed anew, or to name the records of a batch that is refused.

A faulty record refuses the whole batch, and all faulty ones are named. Kafka: ProduceRequest.validateRecords,
UnifiedLog.analyzeAndValidateRecords, LogValidator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from ottla.broker.log_config import LogConfig
from ottla.protocol.batch_error import BatchError, RecordFault
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.record_scan import scan_records
from ottla.protocol.records import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    BatchHeader,
    TimestampType,
    assign_timestamp,
    batch_spans,
    checksum_matches,
    read_header,
)
from ottla.protocol.varint import Buffer

#: The first Produce version that may carry zstd.
_ZSTD_VERSION_MIN: Final = 7

#: A batch that may be appended as far as its records go, and its header, both after what was changed.
ValidBatch: TypeAlias = tuple[Buffer, BatchHeader]


def produced_batch(records: Buffer | None, api_version: int) -> tuple[ErrorCode, bytes]:
    """The one batch in the records field of Produce, without trailing bytes that form no batch.

    Null records, which Kafka leaves without any answer, count as empty.
    """
    if not records:
        return ErrorCode.INVALID_RECORD, b""
    try:
        spans = batch_spans(records)
        first = next(spans, None)
        if first is None or first.magic != 2:
            return ErrorCode.INVALID_RECORD, b""
        if api_version < _ZSTD_VERSION_MIN and read_header(records).compression == CompressionType.ZSTD:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, b""
        if next(spans, None) is not None:
            return ErrorCode.INVALID_RECORD, b""
    except BatchError as refused:
        return refused.error, b""
    if first.size_bytes == len(records) and isinstance(records, bytes):
        return ErrorCode.NONE, records
    return ErrorCode.NONE, bytes(records[: first.size_bytes])


def validate(batch: bytes, config: LogConfig, wall_ms: int) -> ValidBatch:
    """Check a batch that `produced_batch` let through. Raises `BatchError` with Kafka's answer."""
    header = read_header(batch)
    if header.base_offset:
        raise BatchError(ErrorCode.INVALID_RECORD, f"base_offset is {header.base_offset}; a produced batch begins at 0")
    _check_size(len(batch), config)
    if not checksum_matches(batch, header):
        raise BatchError(ErrorCode.CORRUPT_MESSAGE, "the batch is not what its checksum was computed over")
    codec = header.attributes & COMPRESSION_MASK
    if codec > CompressionType.ZSTD:
        raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression type {codec} is unknown")
    _check_header(header)
    target = config.compression_type
    if target is None or target == codec:
        valid = _validate_as_is(batch, header, config, wall_ms)
    else:
        valid = _compressed_anew(batch, header, target, config, wall_ms)
    if len(valid[0]) > config.segment_bytes:
        message = f"the batch has {len(valid[0])} bytes, more than segment.bytes={config.segment_bytes}"
        raise BatchError(ErrorCode.RECORD_LIST_TOO_LARGE, message)
    return valid


def _check_size(size: int, config: LogConfig) -> None:
    if size > config.max_message_bytes:
        message = f"the batch has {size} bytes, more than max.message.bytes={config.max_message_bytes}"
        raise BatchError(ErrorCode.MESSAGE_TOO_LARGE, message)


def _check_header(header: BatchHeader) -> None:
    count = header.records_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        message = f"records_count is {count} and last_offset_delta {header.last_offset_delta}"
        raise BatchError(ErrorCode.INVALID_RECORD, message)
    if header.attributes & CONTROL_FLAG:
        raise BatchError(ErrorCode.INVALID_RECORD, "only the broker writes control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        message = f"producer {header.producer_id} numbers its batches, but base_sequence is {header.base_sequence}"
        raise BatchError(ErrorCode.INVALID_RECORD, message)


def _validate_as_is(batch: bytes, header: BatchHeader, config: LogConfig, wall_ms: int) -> ValidBatch:
    """Check a batch whose records are stored as they came; only its times may change."""
    scan = scan_records(batch, header)
    if (
        header.attributes & TIMESTAMP_TYPE_FLAG
        or (scan.null_keys and config.compact)
        or (
            not config.is_log_append_time
            and not _is_in_time(scan.min_timestamp_bound, scan.max_timestamp, config, wall_ms)
        )
    ):
        records = read_records(batch, header, check_sizes=not header.compression)
        _refuse_faulty(records, header, config, wall_ms)
    if not scan.is_consecutive and header.compression:
        # Kafka means to rewrite such a batch, but has skipped its keys and values by then, and fails without a code.
        raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, "a compressed batch's offset deltas do not count up from 0")
    if config.is_log_append_time:
        return _stamped(batch, header, TimestampType.LOG_APPEND_TIME, wall_ms)
    if header.max_timestamp == scan.max_timestamp and not header.attributes & TIMESTAMP_TYPE_FLAG:
        return batch, header
    return _stamped(batch, header, TimestampType.CREATE_TIME, scan.max_timestamp)


def _stamped(batch: bytes, header: BatchHeader, timestamp_type: TimestampType, max_timestamp: int) -> ValidBatch:
    """The batch with other times, and the checksum they need."""
    stamped = bytearray(batch)
    assign_timestamp(stamped, header, timestamp_type, max_timestamp)
    return stamped, read_header(stamped)


def _compressed_anew(
    batch: bytes, header: BatchHeader, compression: CompressionType, config: LogConfig, wall_ms: int
) -> ValidBatch:
    """The batch in the codec its topic asks for, its records numbered from 0 without gaps."""
    records = list(read_records(batch, header))
    _refuse_faulty(records, header, config, wall_ms)
    if any(record.timestamp < NO_TIMESTAMP for record in records):
        # Stored as it came such a record is fine; Kafka's builder fails on it without a code.
        raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, "a record's timestamp is negative")
    rebuilt = build_batch_of(
        [record._replace(offset=index) for index, record in enumerate(records)],
        base_offset=0,
        log_append_time_ms=wall_ms if config.is_log_append_time else None,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        compression=compression,
        compression_level=config.compression_level,
    )
    _check_size(len(rebuilt), config)
    return rebuilt, read_header(rebuilt)


def _is_in_time(smallest: int, largest: int, config: LogConfig, wall_ms: int) -> bool:
    return largest <= wall_ms + config.timestamp_after_max_ms and smallest >= wall_ms - config.timestamp_before_max_ms


def _refuse_faulty(records: Iterable[Record], header: BatchHeader, config: LogConfig, wall_ms: int) -> None:
    """Raise for the records this topic doesn't take, if there are any. One with a bad time makes it
    INVALID_TIMESTAMP."""
    faults = []
    error = ErrorCode.INVALID_RECORD
    for index, record in enumerate(records):
        if config.compact and record.key is None:
            faults.append(RecordFault(index, "the topic is compacted and takes no record without a key"))
        elif message := _fault_in_time(record, header, config, wall_ms):
            faults.append(RecordFault(index, message))
            error = ErrorCode.INVALID_TIMESTAMP
    if faults:
        message = f"{len(faults)} of {header.records_count} records were refused; the first: {faults[0].message}"
        raise BatchError(error, message, tuple(faults))


def _fault_in_time(record: Record, header: BatchHeader, config: LogConfig, wall_ms: int) -> str | None:
    timestamp = record.timestamp
    if not config.is_log_append_time and timestamp != NO_TIMESTAMP:
        if _is_in_time(timestamp, timestamp, config, wall_ms):
            return None
        earliest, latest = wall_ms - config.timestamp_before_max_ms, wall_ms + config.timestamp_after_max_ms
        return f"timestamp {timestamp} of the record at {record.offset} is not within {earliest} and {latest}"
    if header.attributes & TIMESTAMP_TYPE_FLAG:
        return "a producer may not set the timestamp type LogAppendTime"
    return None

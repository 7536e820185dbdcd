"""Whether a producer's batch may be appended, and its form in the log: Kafka's checks, in Kafka's order.

    only_batch        the records field of a Produce request holds exactly one batch of magic 2
    prepare_append    size, checksum, header, records, timestamps; then the offsets within it and max_timestamp are set

A structural fault refuses the batch as a whole. Records that break a rule of the topic (no key where it is compacted, a
timestamp out of range) are all named in `BatchError.faults`, and refuse the batch as well. Nothing here knows a log,
so producer state, min.insync.replicas and segment.bytes are checked by the log that appends it. To unpack a batch may
take more than one turn of the loop, and the log grows meanwhile: it gives the batch its place when that is done.

Kafka: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, LogValidator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ottla.pacing import charge_fault
from ottla.protocol.batch_error import BatchError, RecordFault
from ottla.protocol.compression import (
    DECOMPRESSED_BYTES_MAX,
    DECOMPRESSED_RECORDS_MAX,
    PRODUCED_BYTES_MAX,
    PRODUCED_TIMES_MAX,
    CompressionType,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_building import build_batch_of
from ottla.protocol.record_reading import Record, read_records, wrapped
from ottla.protocol.record_scan import scan_records
from ottla.protocol.records import (
    BATCH_OVERHEAD,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    RECORD_BYTES_MAX,
    TIMESTAMP_TYPE_FLAG,
    BatchHeader,
    TimestampType,
    assign_timestamp,
    batch_spans,
    checksum_matches,
    read_header,
)


@dataclass(slots=True)
class AppendRules:
    """What a topic's configuration says about the batches it takes; names and units are Kafka's."""

    max_message_bytes: int = 1_048_588
    #: Of each record in a compressed batch, unpacked.
    max_decompressed_message_bytes: int = RECORD_BYTES_MAX
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 3_600_000
    is_compacted: bool = False
    #: `None`: as the producer compressed it (compression.type=producer).
    compression: CompressionType | None = None
    #: compression.{gzip,lz4,zstd}.level; `None` is the codec's default.
    compression_level: int | None = None
    #: Not Kafka's: what one compressed batch may unpack to, in bytes and in records.
    decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
    decompressed_records_max: int = DECOMPRESSED_RECORDS_MAX


class PreparedBatch(NamedTuple):
    """A batch as the log keeps it, but for its place: base offset and leader epoch."""

    data: bytearray
    #: As Kafka answers it: now for LogAppendTime, else the newest record's, -1 if none has one.
    max_timestamp: int
    last_offset_delta: int


_codec_of: Final = CompressionType.of


def only_batch(records: Buffer | None, api_version: int) -> tuple[BatchHeader, memoryview]:
    """The one batch that a partition's records field of Produce may hold, bytes after it left out.

    INVALID_RECORD for none (null and empty included), several, or an old magic; CORRUPT_MESSAGE where the first bytes
    can't be a batch's; UNSUPPORTED_COMPRESSION_TYPE for zstd before v7. A batch that is shorter than a header reads as
    if zeros followed it, and is left for `prepare_append` to refuse, since Kafka checks other things first.
    """
    records = b"" if records is None else records
    if len(records) >= BATCH_OVERHEAD:
        # Nearly always one batch is all there is, and then its header says so.
        header = read_header(records)
        if header.magic == 2 and LOG_OVERHEAD + header.batch_length == len(records) and api_version >= 7:
            return header, memoryview(records)
    spans = batch_spans(records)
    first = next(spans, None)
    if first is None:
        raise BatchError(ErrorCode.INVALID_RECORD, "a partition's records must hold one batch, and hold none")
    if first.magic != 2:
        message = f"magic {first.magic} is no longer accepted: record batches must have magic 2"
        raise BatchError(ErrorCode.INVALID_RECORD, message)
    batch = memoryview(records)[: first.size_bytes]
    header = read_header(batch if len(batch) >= BATCH_OVERHEAD else bytes(batch).ljust(BATCH_OVERHEAD, b"\0"))
    if api_version < 7 and CompressionType.of(header.attributes) is CompressionType.ZSTD:
        message = f"Produce v{api_version} can't carry zstd; v7 is the first that can"
        raise BatchError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)
    if next(spans, None) is not None:
        raise BatchError(ErrorCode.INVALID_RECORD, "a partition's records must hold one batch, and hold several")
    return header, batch


def prepare_append(batch: Buffer, header: BatchHeader, rules: AppendRules, *, now_ms: int) -> PreparedBatch:
    """Check a producer's batch against the topic's rules, and make it what the log keeps. Raises `BatchError`.

    `batch` is left as it is; what comes back is a copy, compressed anew if the rules ask for another codec. The task
    may be suspended in here: the caller looks at the log anew afterwards.
    """
    _check_batch(batch, header, rules.max_message_bytes)
    source = _codec_of(header.attributes)
    _check_header(header)
    if source and header.records_count > rules.decompressed_records_max:
        message = f"the compressed batch has {header.records_count} records, more than {rules.decompressed_records_max}"
        raise BatchError(ErrorCode.MESSAGE_TOO_LARGE, message)
    if rules.compression is None or rules.compression is source:
        return _keep(bytearray(batch), header, rules, now_ms)
    return _rebuild(batch, header, rules, now_ms)


def _check_batch(batch: Buffer, header: BatchHeader, max_message_bytes: int) -> None:
    if header.base_offset != 0:
        message = f"a produced batch must have base_offset 0, not {header.base_offset}"
        raise BatchError(ErrorCode.INVALID_RECORD, message)
    size_bytes = header.size_bytes
    _check_size(size_bytes, max_message_bytes)
    if size_bytes < BATCH_OVERHEAD or not checksum_matches(batch, header):
        raise BatchError(ErrorCode.CORRUPT_MESSAGE, "the batch does not match its checksum")


def _check_size(size_bytes: int, max_message_bytes: int) -> None:
    if size_bytes > max_message_bytes:
        message = f"the batch of {size_bytes} bytes is over max.message.bytes={max_message_bytes}"
        raise BatchError(ErrorCode.MESSAGE_TOO_LARGE, message)


def _check_header(header: BatchHeader) -> None:
    """What a client may claim about its records. Kafka: LogValidator.validateBatch."""
    count, last_offset_delta = header.records_count, header.last_offset_delta
    if count <= 0 or last_offset_delta != count - 1:
        message = f"records_count {count} and last_offset_delta {last_offset_delta} don't fit together"
        raise BatchError(ErrorCode.INVALID_RECORD, message)
    if header.attributes & CONTROL_FLAG:
        raise BatchError(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if header.base_sequence < 0 and header.has_producer_id:
        message = f"producer {header.producer_id} sent the sequence number {header.base_sequence}"
        raise BatchError(ErrorCode.INVALID_RECORD, message)


def _unpacked_bytes_max(header: BatchHeader, rules: AppendRules) -> int:
    """A batch may unpack to many times its size, and a small one to more times of it."""
    return min(rules.decompressed_bytes_max, max(PRODUCED_BYTES_MAX, PRODUCED_TIMES_MAX * header.size_bytes))


def _keep(data: bytearray, header: BatchHeader, rules: AppendRules, now_ms: int) -> PreparedBatch:
    """The batch stays as it is but for its timestamp."""
    is_compressed = header.attributes & COMPRESSION_MASK != 0
    bytes_max = _unpacked_bytes_max(header, rules) if is_compressed else 0
    scan = scan_records(data, header, bytes_max, rules.max_decompressed_message_bytes)
    is_append_time = rules.message_timestamp_type is LOG_APPEND_TIME
    # Most batches pass here without a look at single records. The bound below errs towards looking.
    needs_look = header.attributes & TIMESTAMP_TYPE_FLAG != 0 or (rules.is_compacted and scan.null_keys > 0)
    if not is_append_time:
        needs_look |= scan.max_timestamp > now_ms + rules.message_timestamp_after_max_ms
        needs_look |= scan.min_timestamp_bound < now_ms - rules.message_timestamp_before_max_ms
    if needs_look:
        records = read_records(data, header, bytes_max, check_sizes=not is_compressed)
        _check_records(records, header, rules, now_ms)
    if is_compressed and not scan.is_consecutive:
        # Kafka means to rebuild such a batch, but has skipped the keys and values by then, and fails without a code.
        message = "the offsets in a compressed batch must count up from 0"
        raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
    max_timestamp = now_ms if is_append_time else scan.max_timestamp
    assign_timestamp(data, header, rules.message_timestamp_type, max_timestamp)
    return PreparedBatch(data, max_timestamp, header.records_count - 1)


def _rebuild(batch: Buffer, header: BatchHeader, rules: AppendRules, now_ms: int) -> PreparedBatch:
    """The records are decoded and compressed as the topic says. Whatever offsets they had, they count up now."""
    assert rules.compression is not None
    bytes_max = _unpacked_bytes_max(header, rules)
    records = list(read_records(batch, header, bytes_max, record_bytes_max=rules.max_decompressed_message_bytes))
    _check_records(records, header, rules, now_ms)
    _check_rebuildable(header, records)
    is_append_time = rules.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    data = build_batch_of(
        [record._replace(offset=index) for index, record in enumerate(records)],
        base_offset=0,
        log_append_time_ms=now_ms if is_append_time else None,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        compression=rules.compression,
        compression_level=rules.compression_level,
    )
    _check_size(len(data), rules.max_message_bytes)
    return PreparedBatch(bytearray(data), read_header(data).max_timestamp, len(records) - 1)


def _check_rebuildable(header: BatchHeader, records: list[Record]) -> None:
    """Where Kafka's builder throws exceptions without a code. Kafka: MemoryRecordsBuilder.validateProducerState."""
    has_producer = header.producer_id != NO_PRODUCER_ID
    for is_wrong, what in (
        (any(record.timestamp < NO_TIMESTAMP for record in records), "negative timestamps"),
        (header.is_transactional and not has_producer, "a transaction but no producer id"),
        (has_producer and header.producer_epoch == NO_PRODUCER_EPOCH, "a producer id but no epoch"),
        (has_producer and header.base_sequence < 0, "a producer id but no sequence number"),
    ):
        if is_wrong:
            raise BatchError(ErrorCode.UNKNOWN_SERVER_ERROR, f"a batch with {what} can't be compressed anew")


def _check_records(records: Iterable[Record], header: BatchHeader, rules: AppendRules, now_ms: int) -> None:
    """Check each record against the topic's rules. Kafka: LogValidator.validateRecord, processRecordErrors."""
    error = ErrorCode.INVALID_RECORD
    faults: list[RecordFault] = []
    count = 0
    for index, record in enumerate(records):
        if rules.is_compacted and record.key is None:
            problem: str | None = "a compacted topic takes no record without a key"
        elif problem := _timestamp_problem(record.timestamp, header, rules, now_ms):
            error = ErrorCode.INVALID_TIMESTAMP
        if problem:
            count += 1
            if charge_fault() or count == 1:
                faults.append(RecordFault(index, problem))
    if faults:
        message = f"{count} of {header.records_count} records are refused; the first: {faults[0].message}"
        raise BatchError(error, message, tuple(faults))


def _timestamp_problem(timestamp: int, header: BatchHeader, rules: AppendRules, now_ms: int) -> str | None:
    if rules.message_timestamp_type is TimestampType.CREATE_TIME and timestamp != NO_TIMESTAMP:
        before_max_ms, after_max_ms = rules.message_timestamp_before_max_ms, rules.message_timestamp_after_max_ms
        age_ms = wrapped(now_ms - timestamp)
        if age_ms > before_max_ms or wrapped(-age_ms) > after_max_ms:
            earliest, latest = now_ms - before_max_ms, now_ms + after_max_ms
            return f"timestamp {timestamp} is outside [{earliest}, {latest}], the topic's range at this moment"
    elif header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return "a producer may not set the timestamp type to LogAppendTime"
    return None

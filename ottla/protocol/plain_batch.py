"""The plain batch, as nearly every request has it: the log stores it unchanged.

It is not compressed, its timestamps are the producer's and within the topic's range, and the topic stores it as the
producer made it. Such a batch is checked where it lies in the frame, without a copy. A batch that passes here would
pass `record_validation.prepare_append` with the same bytes; all others are left to that.
"""

from __future__ import annotations

from ottla.protocol.batch_error import BatchError
from ottla.protocol.crc32c import crc32c
from ottla.protocol.record_scan import scan_plain
from ottla.protocol.record_validation import AppendRules
from ottla.protocol.records import (
    BATCH_OVERHEAD,
    CHECKSUMMED_AT,
    CREATE_TIME,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    read_header,
)


def read_plain_batch(
    frame: bytes, start: int, end: int, rules: AppendRules, now_ms: int, attributes: int = 0
) -> BatchHeader | None:
    """The header of the batch that takes up these bytes of `frame`, which the log keeps as they are; None: it may not.

    `attributes`: the ones that it has to have. Others may have their turn meanwhile.
    """
    size_bytes = end - start
    if not BATCH_OVERHEAD <= size_bytes <= rules.max_message_bytes:
        return None
    header = read_header(frame, start)
    (
        base_offset, batch_length, _, magic, crc, found_attributes, last_offset_delta, base_timestamp, max_timestamp,
        producer_id, _, base_sequence, count,
    ) = header  # fmt: skip
    if (
        magic != 2
        or found_attributes != attributes
        or base_offset
        or batch_length != size_bytes - LOG_OVERHEAD
        or count <= 0
        or last_offset_delta != count - 1
        or (base_sequence < 0 <= producer_id)
        or rules.message_timestamp_type is not CREATE_TIME
        or rules.is_compacted
        or rules.compression
        or crc32c(memoryview(frame)[start + CHECKSUMMED_AT : end]) != crc
    ):
        return None
    try:
        earliest, latest = scan_plain(frame, start + BATCH_OVERHEAD, end, count)
    except (BatchError, IndexError, ValueError):
        return None
    is_in_range = (
        base_timestamp + earliest >= now_ms - rules.message_timestamp_before_max_ms
        and NO_TIMESTAMP <= base_timestamp + latest == max_timestamp
        and max_timestamp <= now_ms + rules.message_timestamp_after_max_ms
    )
    return header if is_in_range else None

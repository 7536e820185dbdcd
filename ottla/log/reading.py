"""Finding things in a log's segments: the batches from an offset on, what happened at a time, aborted transactions.

A fetch stays within one segment. It gets the batch that holds its offset from that batch's beginning, then as many
bytes as it asked for, be it that the last batch is cut off: clients drop what is not whole. Only the first batch is
sent whole or not at all. Looking up times goes by whole segments first, then by batch, and opens one batch at the end.

All of this only reads, and knows a log as its segments and offsets.
Kafka: LocalLog.read, LogSegment.read, UnifiedLog.fetchOffsetByTimestamp, TransactionIndex.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.log.storage.segment import AbortedTransaction, Segment
from ottla.protocol.primitives import Buffer
from ottla.protocol.record_reading import first_offset_at, offset_of_max_timestamp
from ottla.protocol.records import read_header

NO_RECORDS: Final = b""


class LogRange(NamedTuple):
    """Bytes of a log, and where they begin: at `position` of the segment with that base offset."""

    records: Buffer
    segment_base_offset: int
    position: int
    #: There are none since the first batch is larger than the room there is. No room at all is another thing to Kafka.
    is_too_large: bool = False


class TimestampOffset(NamedTuple):
    """A record's offset, its timestamp, and the leader epoch it was written under."""

    timestamp: int
    offset: int
    leader_epoch: int


def segment_number(segments: Sequence[Segment], offset: int) -> int:
    """Which segment an offset of the log belongs to."""
    last = len(segments) - 1
    return last if offset >= segments[last].base_offset else bisect_right(segments, offset, key=_base_offset) - 1


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def position_of(segments: Sequence[Segment], offset: int) -> tuple[int, int]:
    """(segment's base offset, position in it) of the batch that holds `offset`, or would."""
    segment = segments[segment_number(segments, offset)]
    return segment.base_offset, segment.find(offset)[0]


def batch_offset(segments: Sequence[Segment], offset: int) -> int:
    """The base offset of the batch that holds `offset`; `offset` itself if none does."""
    segment = segments[segment_number(segments, offset)]
    position, batch_bytes = segment.find(offset)
    return read_header(segment.slice(position, batch_bytes)).base_offset if batch_bytes else offset


def read_range(
    segments: Sequence[Segment], fetch_offset: int, end_offset: int, bytes_max: int, *, is_first: bool
) -> LogRange:
    """The batches from `fetch_offset` up to `end_offset`, at most `bytes_max`, all from one segment.

    `is_first`: the first batch may be larger than that. Otherwise nothing is read unless it fits.
    """
    number = segment_number(segments, fetch_offset)
    segment = segments[number]
    position, batch_bytes = segment.find(fetch_offset)
    if fetch_offset >= end_offset:
        return LogRange(NO_RECORDS, segment.base_offset, position)
    while batch_bytes == 0:
        # The end of this segment was compacted away.
        number += 1
        segment = segments[number]
        position, batch_bytes = segment.find(fetch_offset)
    if batch_bytes > bytes_max:
        if not is_first:
            return LogRange(NO_RECORDS, segment.base_offset, position, is_too_large=bytes_max > 0)
        bytes_max = batch_bytes
    end = segment.size_bytes
    if end_offset < segment.next_offset:
        end, _ = segment.find(end_offset)
    return LogRange(segment.slice(position, min(end - position, bytes_max)), segment.base_offset, position)


def aborted_between(segments: Sequence[Segment], fetch_offset: int, found: LogRange) -> list[AbortedTransaction]:
    """The aborted transactions that a reader of `found`, fetched at `fetch_offset`, has to leave out.

    It may be told of some more: Kafka asks its index where the records end, which knows that for every 4 KiB, and
    beyond its last entry goes by the end of the segment. Kafka: LocalLog.addAbortedTransactions.
    """
    later = segments[segment_number(segments, found.segment_base_offset) :]
    if not any(segment.aborted for segment in later):
        return []
    upper_offset = later[0].indexed_offset_from(found.position + len(found.records))
    if upper_offset is None:
        upper_offset = later[0].next_offset if len(later) == 1 else later[1].base_offset
    aborted = []
    for segment in later:
        for transaction in segment.aborted:
            if transaction.last_offset >= fetch_offset and transaction.first_offset < upper_offset:
                aborted.append(transaction)
            if transaction.last_stable_offset >= upper_offset:
                return aborted
    return aborted


def find_timestamp(
    segments: Sequence[Segment], timestamp: int, log_start_offset: int, record_bytes_max: int
) -> TimestampOffset | None:
    """The first record at or after `timestamp` and not before the log's start.

    Only the first segment that reaches the timestamp is searched, as in Kafka: if what reaches it lies before the log's
    start, nothing is found. Raises `BatchError` for a batch that can't be opened,
    or has a record above max.decompressed.message.bytes.
    """
    segment = next((segment for segment in segments if segment.largest_timestamp >= timestamp), None)
    if segment is None:
        return None
    for batch in segment.batches(max(segment.find_timestamp(timestamp), segment.find(log_start_offset)[0])):
        header = read_header(batch)
        if header.max_timestamp >= timestamp:
            found = first_offset_at(batch, header, timestamp, log_start_offset, record_bytes_max)
            if found is not None:
                offset, found_timestamp = found
                return TimestampOffset(found_timestamp, offset, header.partition_leader_epoch)
    return None


def find_max_timestamp(segments: Sequence[Segment], record_bytes_max: int) -> TimestampOffset | None:
    """The first record with the largest timestamp. As in Kafka that may be -1, or lie before the log's start."""
    segment = max(segments, key=_max_timestamp)
    batch = next(segment.batches(segment.find_timestamp(segment.max_timestamp)), None)
    if batch is None:
        return None
    header = read_header(batch)
    offset = offset_of_max_timestamp(batch, header, record_bytes_max)
    return None if offset is None else TimestampOffset(header.max_timestamp, offset, header.partition_leader_epoch)


def _max_timestamp(segment: Segment) -> int:
    return segment.max_timestamp

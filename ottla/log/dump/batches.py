"""The batches of a .log file as lines, one for each batch and, if asked for, one for each of its records.

A batch has a length, so a batch with damaged records is reported and skipped. If there is no batch, or only a part of
it, the rest of the file can't be read, and the last line says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from ottla.log.dump import DAMAGED, DumpLine
from ottla.log.dump.values import RecordTypes, UnknownTypeError, UnreadableError, decoded
from ottla.log.transaction_marker import read_marker
from ottla.protocol.batch_error import BatchError
from ottla.protocol.compression import CompressionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_reading import Record, read_records
from ottla.protocol.records import (
    BATCH_OVERHEAD,
    NO_SEQUENCE,
    BatchHeader,
    TimestampType,
    checksum_matches,
    increment_sequence,
    read_header,
)

_TIMESTAMP_NAMES: Final = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}
_MAGIC: Final = 2


@dataclass(slots=True)
class Show:
    """The options of a dump."""

    records: bool = False
    """A line for each record."""
    data: bool = False
    """Its key and value in that line."""
    types: RecordTypes | None = None
    """What they are, if they are to be decoded; None: text."""
    metadata: bool = True
    """Offset, timestamp, sizes and so on of records; without it markers are left out."""
    bytes_max: int | None = None
    """Stop after batches of so many bytes."""
    is_visible: Callable[[BatchHeader], bool] = lambda _: True
    """Which batches; the others are passed over."""


class LogFile:
    """A .log file that is open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size_bytes = os.fstat(file.fileno()).st_size

    def read(self, position: int, size: int) -> bytes:
        self._file.seek(position)
        return self._file.read(size)

    def header(self, position: int) -> BatchHeader:
        """Of the batch at `position`, all of which is there. Raises `BatchError`."""
        header = read_header(self.read(position, BATCH_OVERHEAD))
        if header.magic != _MAGIC:
            raise _no_batch(f"its magic is {header.magic}, and only {_MAGIC} is understood")
        if header.size_bytes < BATCH_OVERHEAD:
            raise _no_batch(f"it claims {header.size_bytes} bytes, fewer than its header has")
        if header.size_bytes > self.size_bytes - position:
            raise _no_batch(f"it claims {header.size_bytes} bytes, and the file has {self.size_bytes - position} more")
        return header


def _no_batch(reason: str) -> BatchError:
    return BatchError(ErrorCode.CORRUPT_MESSAGE, reason)


def batch_lines(log: LogFile, name: str, show: Show) -> Iterator[DumpLine]:
    """Every batch of the file, and what is wrong with it."""
    position = 0
    expected_offset = -1
    end = log.size_bytes if show.bytes_max is None else min(log.size_bytes, show.bytes_max)
    while position < end:
        try:
            header = log.header(position)
        except BatchError as error:
            rest = log.size_bytes - position
            yield DumpLine(f"Found {rest} invalid bytes at the end of {name}: at position {position}, {error}", True)
            return
        if show.is_visible(header):
            yield from _lines_of(log.read(position, header.size_bytes), header, position, show)
        if header.base_offset < expected_offset:
            text = f"{DAMAGED}: offsets go back from {expected_offset} to {header.base_offset} at position {position}"
            yield DumpLine(text, True)
        expected_offset = header.last_offset + 1
        position += header.size_bytes


def _lines_of(batch: bytes, header: BatchHeader, position: int, show: Show) -> Iterator[DumpLine]:
    is_valid = checksum_matches(batch, header)
    yield DumpLine(_batch_line(header, position, is_valid), not is_valid)
    if show.records:
        yield from _record_lines(batch, header, position, show)


def _batch_line(header: BatchHeader, position: int, is_valid: bool) -> str:
    horizon = "OptionalLong.empty" if header.delete_horizon_ms is None else f"OptionalLong[{header.delete_horizon_ms}]"
    shown = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.records_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": _yes_or_no(header.is_transactional),
        "isControl": _yes_or_no(header.is_control),
        "deleteHorizonMs": horizon,
        "position": position,
        _TIMESTAMP_NAMES[header.timestamp_type]: header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": _codec(header),
        "crc": header.crc,
        "isvalid": _yes_or_no(is_valid),
    }
    return _spelled(shown)


def _codec(header: BatchHeader) -> str:
    try:
        return CompressionType.of(header.compression).name.lower()
    except BatchError:
        return f"unknown({header.compression})"


def _yes_or_no(value: bool) -> str:
    return "true" if value else "false"


def _spelled(shown: dict[str, object]) -> str:
    return " ".join(f"{name}: {value}" for name, value in shown.items())


def _record_lines(batch: bytes, header: BatchHeader, position: int, show: Show) -> Iterator[DumpLine]:
    if header.is_control and not show.metadata:
        return
    try:
        for record in read_records(batch, header):
            parts = ["|"]
            if show.metadata:
                parts.append(_metadata(record, header))
            if header.is_control:
                marker = read_marker(batch, header)
                assert marker is not None, "there is a record"
                kind = "COMMIT" if marker.is_commit else "ABORT"
                parts.append(f"endTxnMarker: {kind} coordinatorEpoch: {marker.coordinator_epoch}")
                yield DumpLine(" ".join(parts))
            elif show.data:
                data, is_complaint = _data(record, show.types)
                yield DumpLine(" ".join([*parts, data] if data else parts), is_complaint)
            else:
                yield DumpLine(" ".join(parts))
    except BatchError as error:
        yield DumpLine(f"| {DAMAGED}: the records of the batch at position {position} can't be read: {error}", True)


def _metadata(record: Record, header: BatchHeader) -> str:
    sequence = header.base_sequence
    if sequence != NO_SEQUENCE:
        sequence = increment_sequence(sequence, record.offset - header.base_offset)
    return _spelled(
        {
            "offset": record.offset,
            _TIMESTAMP_NAMES[header.timestamp_type]: record.timestamp,
            "keySize": -1 if record.key is None else len(record.key),
            "valueSize": -1 if record.value is None else len(record.value),
            "sequence": sequence,
            "headerKeys": f"[{','.join(name for name, _ in record.headers)}]",
        }
    )


def _data(record: Record, types: RecordTypes | None) -> tuple[str, bool]:
    """Key and value as text, and whether there was something wrong with them."""
    if types is not None:
        try:
            key, value = decoded(record.key, record.value, types)
        except UnknownTypeError as unknown:
            return f"key: Unknown record type {unknown.record_type} at offset {record.offset}, skipping.", False
        except UnreadableError as error:
            return f"{DAMAGED}: {error}", True
        return f"key: {key} payload: {value}", False
    shown = {"key": record.key, "payload": record.value}
    return _spelled({name: _text(data) for name, data in shown.items() if data is not None}), False


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def first_offset_of(name: str) -> int | None:
    """The base offset that a segment's file is named by."""
    stem = name.partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdecimal() else None

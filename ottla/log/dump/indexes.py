"""The files beside a .log file as lines, and whether they fit it.

    .index       offset, position                      the batch at the position has to end at the offset
    .timeindex   timestamp, offset                     the batch with the offset has to reach the timestamp
    .txnindex    one line for each aborted transaction
    .snapshot    one line for each producer

A broker rebuilds the first two if they don't fit, so an error in them loses nothing.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Final

from ottla.log.dump import DAMAGED, DumpLine
from ottla.log.dump.batches import LogFile
from ottla.log.storage.producer_snapshot import decode_aborted, decode_producers
from ottla.protocol.batch_error import BatchError

_INDEX_ENTRY: Final = struct.Struct(">Ii")
_TIME_ENTRY: Final = struct.Struct(">qI")


def index_lines(path: Path, base_offset: int, *, shows_entries: bool) -> Iterator[DumpLine]:
    """An offset index, compared with the log beside it."""
    entries = list(_entries(_INDEX_ENTRY, path))
    if len(entries) * _INDEX_ENTRY.size != path.stat().st_size:
        yield DumpLine(f"{DAMAGED}: {path} ends in the middle of an entry", True)
    mismatches = []
    previous = -1, -1
    with path.with_suffix(".log").open("rb") as file:
        log = LogFile(file)
        for number, (relative_offset, position) in enumerate(entries):
            if number and not relative_offset:
                return  # from here on there is nothing but room
            offset = base_offset + relative_offset
            if shows_entries:
                yield DumpLine(f"offset: {offset} position: {position}")
            if (offset, position) <= previous:
                yield DumpLine(f"{DAMAGED}: entry {number} of {path} is not above the one before it", True)
            previous = offset, position
            found = _last_offset_at(log, position)
            if found != offset:
                mismatches.append((offset, found))
    if mismatches:
        yield DumpLine(f"Mismatches in :{path}", True)
        for offset, found in mismatches:
            yield DumpLine(f"  Index offset: {offset}, log offset: {found}", True)


def _last_offset_at(log: LogFile, position: int) -> int | str:
    try:
        return log.header(position).last_offset
    except (BatchError, OSError, ValueError) as error:
        return f"none ({error})"


def time_index_lines(path: Path, base_offset: int, *, shows_entries: bool) -> Iterator[DumpLine]:
    """A time index, compared with the log beside it."""
    entries = list(_entries(_TIME_ENTRY, path))
    if len(entries) * _TIME_ENTRY.size != path.stat().st_size:
        yield DumpLine(f"{DAMAGED}: {path} ends in the middle of an entry", True)
    with path.with_suffix(".log").open("rb") as file:
        reached = _timestamps_by_last_offset(LogFile(file))
    previous = -1
    for number, (timestamp, relative_offset) in enumerate(entries):
        if number and not relative_offset and not timestamp:
            return
        offset = base_offset + relative_offset
        if shows_entries:
            yield DumpLine(f"timestamp: {timestamp} offset: {offset}")
        if timestamp < previous:
            yield DumpLine(f"{DAMAGED}: entry {number} of {path} is older than the one before it", True)
        previous = timestamp
        at = bisect_left(reached, offset, key=itemgetter(0))
        found = reached[at][1] if at < len(reached) else None
        if found != timestamp:
            yield DumpLine(f"Found timestamp mismatch in :{path}", True)
            yield DumpLine(f"  Index timestamp: {timestamp}, log timestamp: {'none' if found is None else found}", True)


def _timestamps_by_last_offset(log: LogFile) -> list[tuple[int, int]]:
    """(last offset, largest timestamp) of each batch, as far as there are batches."""
    found = []
    position = 0
    while position < log.size_bytes:
        try:
            header = log.header(position)
        except BatchError:
            break
        found.append((header.last_offset, header.max_timestamp))
        position += header.size_bytes
    return found


def aborted_lines(path: Path) -> Iterator[DumpLine]:
    """A transaction index."""
    aborted = decode_aborted(path.read_bytes())
    if aborted is None:
        yield DumpLine(f"{DAMAGED}: {path} is no transaction index of version 0", True)
        return
    for entry in aborted:
        yield DumpLine(
            f"version: 0 producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
            f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
        )


def snapshot_lines(path: Path) -> Iterator[DumpLine]:
    """A snapshot of producers."""
    producers = decode_producers(path.read_bytes())
    if producers is None:
        yield DumpLine(f"{DAMAGED}: {path} is no producer snapshot of version 1, or its checksum is wrong", True)
        return
    for producer in producers:
        first = producer.transaction_first_offset
        text = (
            f"producerId: {producer.producer_id} producerEpoch: {producer.producer_epoch} "
            f"coordinatorEpoch: {producer.coordinator_epoch} "
            f"currentTxnFirstOffset: {'OptionalLong.empty' if first is None else f'OptionalLong[{first}]'} "
            f"lastTimestamp: {producer.last_timestamp} "
        )
        for batch in producer.batches[-1:]:
            text += (
                f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
                f"lastOffset: {batch.last_offset} offsetDelta: {batch.last_offset - batch.first_offset} "
                f"timestamp: {batch.timestamp}"
            )
        yield DumpLine(text.rstrip())


def _entries(entry: struct.Struct, path: Path) -> Iterator[tuple[int, int]]:
    data = path.read_bytes()
    yield from entry.iter_unpack(data[: len(data) - len(data) % entry.size])

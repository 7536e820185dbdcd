"""What a reader of committed records sees of a log: neither aborted nor open transactions, nor markers.

Whether a batch was committed is told by the marker that its producer's transaction ends with, which may be in a later
segment: so all segments of the log are gone through first, header by header. From the first transaction on that has no
marker such a reader sees nothing; that is the last stable offset. Where a log is damaged what can't be read ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ottla.log.dump.batches import LogFile, first_offset_of
from ottla.log.transaction_marker import read_marker
from ottla.protocol.batch_error import BatchError
from ottla.protocol.records import BatchHeader


class Committed:
    """Which batches of a log are visible."""

    def __init__(self, segments: Iterable[Path]) -> None:
        #: Where the batches of aborted transactions begin.
        self._aborted: set[int] = set()
        #: Those of open ones, by producer id.
        self._open: dict[int, list[int]] = {}
        for segment in segments:
            with segment.open("rb") as file, suppress(BatchError):
                self._read(LogFile(file))
        self._last_stable_offset = min((batches[0] for batches in self._open.values()), default=None)

    def has(self, header: BatchHeader) -> bool:
        """Whether a reader of committed records is given this batch."""
        is_stable = self._last_stable_offset is None or header.base_offset < self._last_stable_offset
        return is_stable and not header.is_control and header.base_offset not in self._aborted

    def _read(self, log: LogFile) -> None:
        position = 0
        while position < log.size_bytes:
            header = log.header(position)
            if header.is_control:
                self._end(log.read(position, header.size_bytes), header)
            elif header.is_transactional:
                self._open.setdefault(header.producer_id, []).append(header.base_offset)
            position += header.size_bytes

    def _end(self, batch: bytes, header: BatchHeader) -> None:
        """A marker, or what compaction has left of one, whose batches are gone then."""
        with suppress(BatchError):
            marker = read_marker(batch, header)
            batches = self._open.pop(header.producer_id, [])
            if marker is not None and not marker.is_commit:
                self._aborted.update(batches)


def segments_in(directory: Path) -> list[Path]:
    """The .log files of the log in this directory, in order."""
    found = {first: file for file in directory.glob("*.log") if (first := first_offset_of(file.name)) is not None}
    return [found[first] for first in sorted(found)]

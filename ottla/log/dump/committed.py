"""The part of a log that a reader of committed records sees: no aborted or open transactions, no markers.

The marker that ends a transaction tells whether its batches were committed, and it may be in a later segment. So all
segments of the log are read first, header by header. Such a reader sees nothing from the first transaction without a
marker on; that is the last stable offset. A damaged log ends at the damage.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ottla.log.dump.batches import LogFile, first_offset_of
from ottla.log.transaction_marker import read_marker
from ottla.protocol.batch_error import BatchError
from ottla.protocol.records import BatchHeader


class CommittedBatches:
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
        """A marker, or one emptied by compaction, whose batches have gone."""
        with suppress(BatchError):
            marker = read_marker(batch, header)
            batches = self._open.pop(header.producer_id, [])
            if marker is not None and not marker.is_commit:
                self._aborted.update(batches)


def segments_in(directory: Path) -> list[Path]:
    """The .log files of the log in this directory, in order."""
    found = {first: file for file in directory.glob("*.log") if (first := first_offset_of(file.name)) is not None}
    return [found[first] for first in sorted(found)]

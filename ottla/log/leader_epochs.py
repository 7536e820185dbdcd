"""Which leader wrote which part of the log: one entry per leader epoch, with the offset it began at.

    epoch 0 from 0, epoch 3 from 120, epoch 4 from 120 → epoch 3 wrote nothing and its entry gives way

Clients whose log position was written under an older epoch ask where that epoch ended; if it ended before their
position, the log they read was cut. Entries grow in epoch and in offset both. Kafka: LeaderEpochFileCache.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from ottla.log.storage.contract import EpochStart

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class LeaderEpochs:
    """The entries of one log, oldest first."""

    __slots__ = ("entries",)

    def __init__(self, entries: Iterable[EpochStart] = ()) -> None:
        self.entries: list[EpochStart] = list(entries)

    @property
    def latest(self) -> int:
        return self.entries[-1].epoch if self.entries else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` writes from `start_offset` on; entries this contradicts give way. False: nothing new."""
        entries = self.entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return False
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochStart(epoch, start_offset))
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(the largest epoch up to `epoch`, the offset after what it wrote); (-1, -1) where there is no telling.

        An epoch older than all entries ends where the log starts.
        """
        if epoch == NO_EPOCH:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest:
            return epoch, log_end_offset
        after = bisect_right(self.entries, epoch, key=_epoch)
        if after == len(self.entries):
            return NO_EPOCH, NO_OFFSET
        return (self.entries[after - 1].epoch if after else epoch), self.entries[after].start_offset

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote `offset`; -1 for one before the first entry."""
        after = bisect_right(self.entries, offset, key=_start_offset)
        return self.entries[after - 1].epoch if after else NO_EPOCH

    def cut_start(self, log_start_offset: int) -> None:
        """Remove entries that lie wholly before `log_start_offset`."""
        before = bisect_right(self.entries, log_start_offset, key=_start_offset)
        if before:
            self.entries[:before] = [EpochStart(self.entries[before - 1].epoch, log_start_offset)]

    def cut_end(self, log_end_offset: int) -> None:
        """Remove entries for offsets the log has lost."""
        del self.entries[bisect_left(self.entries, log_end_offset, key=_start_offset) :]


def _epoch(entry: EpochStart) -> int:
    return entry.epoch


def _start_offset(entry: EpochStart) -> int:
    return entry.start_offset

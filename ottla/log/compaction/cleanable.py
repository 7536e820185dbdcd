"""How much of a compacted log is dirty, which part of it may be cleaned now, and in what portions.

    clean     first_dirty_offset        end_offset           log end
    │ a b c        │ d a b │ b c e           │ a d │ …active
    └ cleaned      └ dirty                   └ not yet: the active segment, what an open transaction may still
      before                                   abort, what is younger than min.compaction.lag.ms

A log is cleaned when the dirty part is more than min.cleanable.dirty.ratio of both, or when its oldest record has
waited for max.compaction.lag.ms. Cleaned segments are put together as far as segment.bytes allows.

Kafka: LogCleanerManager.cleanableOffsets, maxCompactionDelay, LogToClean, Cleaner.groupSegmentsBySize.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.log.reading import segment_number
from ottla.log.storage.segment import RELATIVE_OFFSET_MAX, Segment

if TYPE_CHECKING:
    from ottla.log.config import LogConfig
    from ottla.log.partition import Partition


@dataclass(slots=True)
class Cleanable:
    """A log, and what of it may be cleaned."""

    log: Partition
    first_dirty_offset: int
    end_offset: int
    """Up to here it may be cleaned, this excluded: the base of a segment."""
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Whether max.compaction.lag.ms is over for some of it."""

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total_bytes if total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        if not self.dirty_bytes or self.log.is_replacing:
            return False
        return self.is_overdue or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def look_at(log: Partition, wall_ms: int) -> Cleanable:
    """What of the log may be cleaned now."""
    segments, config = log.segments, log.config
    first_dirty_offset = log.cleaned_offset
    if not log.log_start_offset <= first_dirty_offset <= log.log_end_offset:
        first_dirty_offset = log.log_start_offset
    closed = segments[:-1]
    first_dirty = segment_number(segments, first_dirty_offset)
    dirty = closed[first_dirty:]
    limit_offset = min(log.last_stable_offset, segments[-1].base_offset, _first_too_young(dirty, config, wall_ms))
    end = segment_number(segments, max(first_dirty_offset, limit_offset))
    first_counted = min(first_dirty, end)
    return Cleanable(
        log,
        first_dirty_offset,
        segments[end].base_offset,
        _bytes_of(segment for segment in segments if segment.base_offset < first_dirty_offset),
        _bytes_of(segments[first_counted:end]),
        _is_overdue(dirty, config, wall_ms),
    )


def _first_too_young(dirty: Iterable[Segment], config: LogConfig, wall_ms: int) -> int:
    """Where the records begin that must not be cleaned yet; beyond every offset if there are none."""
    lag_ms = config.min_compaction_lag_ms
    too_young = (segment.base_offset for segment in dirty if segment.largest_timestamp > wall_ms - lag_ms)
    return next(too_young, _BEYOND) if lag_ms else _BEYOND


_BEYOND = 2**63 - 1


def _is_overdue(dirty: Iterable[Segment], config: LogConfig, wall_ms: int) -> bool:
    first_timestamps = [segment.first_timestamp for segment in dirty if segment.first_timestamp > 0]
    return min(first_timestamps, default=_BEYOND) < wall_ms - config.max_compaction_lag_ms


def _bytes_of(segments: Iterable[Segment]) -> int:
    return sum(segment.size_bytes for segment in segments)


def portions(segments: Sequence[Segment], segment_bytes: int, end_offset: int) -> list[list[Segment]]:
    """The segments in runs, each to become one segment that is no larger than `segment_bytes`.

    `end_offset`: where the last of them ends.
    """
    runs: list[list[Segment]] = []
    size_bytes = 0
    ends = [*(segment.base_offset for segment in segments[1:]), end_offset]
    for segment, segment_end in zip(segments, ends, strict=False):
        fits = (
            runs
            and size_bytes + segment.size_bytes <= segment_bytes
            and (not segment.size_bytes or segment_end - 1 - runs[-1][0].base_offset <= RELATIVE_OFFSET_MAX)
        )
        if fits:
            runs[-1].append(segment)
            size_bytes += segment.size_bytes
        else:
            runs.append([segment])
            size_bytes = segment.size_bytes
    return runs

"""Which segments retention removes: those before the log's start, beyond retention.bytes, too old; in this order.

Whole segments go, oldest first, until one has to stay. A log keeps at least retention.bytes, for a segment goes only
if it lies wholly in the surplus. Ages are those of the records: old timestamps vanish early, one from the future keeps
its segment. The active segment may go too, as long as it holds anything. Without `delete` in cleanup.policy only what
lies before the log's start goes.

Kafka: UnifiedLog.deleteOldSegments.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.log.config import LogConfig
from ottla.log.storage.segment import Segment


def removable_segments(
    segments: Sequence[Segment], log_start_offset: int, high_watermark: int, config: LogConfig, wall_ms: int
) -> int:
    """How many of the oldest segments may go. All of them means that a new one has to be begun first."""
    ends = [segment.base_offset for segment in segments[1:]]
    ends.append(segments[-1].next_offset)
    most = sum(end <= high_watermark for end in ends) - (segments[-1].size_bytes == 0)
    count = 0
    while count < min(most, len(segments) - 1) and ends[count] <= log_start_offset:
        count += 1
    if not config.delete:
        return count
    if config.retention_bytes >= 0:
        surplus_bytes = sum(segment.size_bytes for segment in segments[count:]) - config.retention_bytes
        while count < most and segments[count].size_bytes <= surplus_bytes:
            surplus_bytes -= segments[count].size_bytes
            count += 1
    if config.retention_ms >= 0:
        while count < most and wall_ms - segments[count].largest_timestamp > config.retention_ms:
            count += 1
    return count

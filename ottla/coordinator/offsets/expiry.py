"""When a committed offset expires. The group's kind says from when on its retention counts.

An offset with an expiry of its own (OffsetCommit v2–v4) goes by that, unless its kind says that nothing expires.
Kafka: OffsetExpirationConditionImpl.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from ottla.coordinator.offsets.committed import NO_EXPIRY

if TYPE_CHECKING:
    from ottla.coordinator.offsets.committed import CommittedOffset


class Expiry(Enum):
    """From when on offsets.retention.minutes count for a committed offset."""

    NEVER = "it does not expire"
    SINCE_COMMIT = "since the commit"
    SINCE_EMPTY = "since the group became Empty"


def is_expired(
    committed: CommittedOffset, expiry: Expiry, now_ms: int, retention_ms: int, empty_since_ms: int | None
) -> bool:
    """`empty_since_ms`: since when the group is in its state, as a date; None: unknown, and the commit counts."""
    if expiry is Expiry.NEVER:
        return False
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp_ms
    since_ms = committed.commit_timestamp_ms
    if expiry is Expiry.SINCE_EMPTY and empty_since_ms is not None:
        since_ms = empty_since_ms
    return now_ms - since_ms >= retention_ms

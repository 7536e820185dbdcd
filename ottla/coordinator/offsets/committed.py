"""A committed offset. Kafka: OffsetAndMetadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from ottla.protocol.primitives import ZERO_UUID

NO_EXPIRY: Final = -1

TopicPartition: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class CommittedOffset:
    """A committed offset. It is never changed, only replaced."""

    offset: int
    leader_epoch: int
    """-1: none."""
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY
    """When it expires by the committer's own wish (OffsetCommit v2–v4); -1: with the group's retention."""
    topic_id: bytes = ZERO_UUID
    """Which topic of that name it was; zero: unknown."""

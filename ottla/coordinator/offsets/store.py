"""What a group has committed: topic -> partition -> offset.

These three functions are the only ones that change it, for a live group as for one that is replayed from the log.
Kafka: OffsetAndMetadata, and OffsetMetadataManager.Offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ottla.coordinator.classic.group import Group

NO_EXPIRY: Final = -1


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


def keep_offset(group: Group, topic: str, partition: int, committed: CommittedOffset) -> None:
    """This is committed now."""
    partitions = group.offsets.get(topic)
    if partitions is None:
        group.offsets[topic] = {partition: committed}
    else:
        partitions[partition] = committed


def drop_offset(group: Group, topic: str, partition: int) -> None:
    """Nothing is committed there any more, if anything was."""
    partitions = group.offsets.get(topic)
    if partitions is not None and partitions.pop(partition, None) is not None and not partitions:
        del group.offsets[topic]


def all_offsets(group: Group) -> Iterator[tuple[str, int, CommittedOffset]]:
    """Every committed offset with its topic and partition."""
    for topic, partitions in group.offsets.items():
        for partition, committed in partitions.items():
            yield topic, partition, committed

"""Which topics a group of consumers reads: the coordinator's one look into what members otherwise tell only each other.

It decides of which topics the offsets may expire or be deleted. The metadata of protocol type "consumer" is a
subscription; only its first version is read, of which all others are continuations. Kafka:
ClassicGroup.computeSubscribedTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ottla.protocol.consumer import PROTOCOL_TYPE, read_subscribed_topics
from ottla.protocol.primitives import DecodeError

if TYPE_CHECKING:
    from ottla.coordinator.classic.group import Group

CONSUMER: Final = PROTOCOL_TYPE


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """All topics that any member subscribes to; None: unknown, for they are no consumers or can't be understood."""
    if group.protocol_type != CONSUMER:
        return None
    if not group.members:
        return frozenset()
    if group.protocol_name is None:
        return None
    distinct = {member.metadata(group.protocol_name) for member in group.members.values()}  # mostly they say the same
    topics: set[str] = set()
    for metadata in distinct:
        if metadata is None:
            return None
        try:
            topics.update(read_subscribed_topics(metadata))
        except DecodeError:
            return None
    return frozenset(topics)


def is_subscribed(group: Group, topic: str) -> bool:
    """Whether the group reads this topic; consumers might if their topics aren't known. Kafka: isSubscribedToTopic."""
    if group.subscribed_topics is None:
        return group.protocol_type == CONSUMER
    return topic in group.subscribed_topics

"""What a group has committed: topic -> partition -> offset; and what it is about to.

Offsets change by the methods here and in no other way, those of a live group as those that come out of the log.
Kafka: OffsetMetadataManager.Offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ottla.coordinator.offsets.committed import CommittedOffset, TopicPartition
from ottla.coordinator.offsets.events import OffsetFetchRequested
from ottla.coordinator.offsets.pending import PendingOffsets


@dataclass(slots=True, eq=False)
class Offsets:
    """The offsets of one group."""

    committed: dict[str, dict[int, CommittedOffset]] = field(default_factory=dict)
    pending: PendingOffsets = field(default_factory=PendingOffsets)
    """Those of open transactions."""
    writes: int = 0
    """Appends of offsets that are not done yet."""
    waiting_fetches: list[OffsetFetchRequested] = field(default_factory=list)
    """Fetches of stable offsets that wait for those."""

    def __iter__(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Every committed offset with its topic and partition."""
        for topic, partitions in self.committed.items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    @property
    def places(self) -> list[TopicPartition]:
        """Where something is committed or pending."""
        return list(dict.fromkeys([*((topic, partition) for topic, partition, _ in self), *self.pending.at]))

    def is_pending(self, topic: str, partition: int) -> bool:
        """Whether an open transaction has committed something there."""
        return (topic, partition) in self.pending.at

    def keep(self, topic: str, partition: int, committed: CommittedOffset) -> None:
        """This is committed now, without a transaction."""
        if self.pending.at:
            self.pending.overrule((topic, partition))
        partitions = self.committed.get(topic)
        if partitions is None:
            self.committed[topic] = {partition: committed}
        else:
            partitions[partition] = committed

    def drop(self, topic: str, partition: int) -> None:
        """Nothing is committed or pending there any more, if anything was."""
        self.pending.drop((topic, partition))
        partitions = self.committed.get(topic)
        if partitions is not None and partitions.pop(partition, None) is not None and not partitions:
            del self.committed[topic]

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """A producer's transaction is over: what it committed counts now, or never."""
        for (topic, partition), committed in self.pending.end(producer_id, is_commit=is_commit):
            self.committed.setdefault(topic, {})[partition] = committed

    def clear(self) -> None:
        """The group is no more: nothing is committed, and nothing waits."""
        self.committed.clear()
        self.pending.at.clear()
        self.waiting_fetches.clear()

    def check(self) -> None:
        """Assert what always holds."""
        assert all(self.committed.values()), "a topic without offsets leaves nothing behind"
        assert all(self.pending.at.values()), "nor does a partition without pending ones"
        assert self.writes or not self.waiting_fetches, "a fetch waits for a write"

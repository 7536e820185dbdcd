"""Offsets of transactions that are still open: they count when the transaction's marker says commit, or never.

Which of two commits counts is decided by their places in the log, not by when their transactions ended: what was
written later stays.

    log        A: orders-0 = 5      orders-0 = 7      A: commit
    counts              –                  7                7, since 5 was written before it

So a commit that comes to count *overrules* what is pending for the same partition and was written before it. Overruled
or not, an offset is pending until its transaction ends, and holds back fetches of stable offsets. Only a tombstone
takes it away.

Kafka: OffsetMetadataManager.replay, replayEndTransactionMarker, OpenTransactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from ottla.coordinator.offsets.committed import CommittedOffset, TopicPartition


@dataclass(slots=True)
class PendingOffset:
    """What a transaction committed for a partition."""

    committed: CommittedOffset
    is_overruled: bool = False
    """Whether something that was written later counts already."""


class PendingOffsets:
    """The offsets of one group in open transactions."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: dict[TopicPartition, dict[int, PendingOffset]] = {}
        """By partition, then by producer id, in the order in which they were written."""

    def add(self, producer_id: int, place: TopicPartition, committed: CommittedOffset) -> None:
        """The producer's transaction commits this."""
        of_producer = self.at.setdefault(place, {})
        of_producer.pop(producer_id, None)  # so that it comes last
        of_producer[producer_id] = PendingOffset(committed)

    def overrule(self, place: TopicPartition) -> None:
        """An offset that counts at once was written for this partition."""
        for pending in self.at.get(place, {}).values():
            pending.is_overruled = True

    def drop(self, place: TopicPartition) -> None:
        """A tombstone was written for this partition."""
        self.at.pop(place, None)

    def end(self, producer_id: int, *, is_commit: bool) -> list[tuple[TopicPartition, CommittedOffset]]:
        """The producer's transaction is over. Returns what counts from now on."""
        counting = []
        for place, of_producer in list(self.at.items()):
            if (ended := of_producer.get(producer_id)) is None:
                continue
            if is_commit and not ended.is_overruled:
                counting.append((place, ended.committed))
                for earlier in takewhile(lambda other: other is not ended, of_producer.values()):
                    earlier.is_overruled = True
            del of_producer[producer_id]
            if not of_producer:
                del self.at[place]
        return counting

"""Offsets in a log that were committed in a transaction: they count when its marker says commit, and never if not.

Which of two commits counts is decided by their places in the log, not by when their transactions ended: what was
written later stays. A tombstone takes what is pending with it.

    log        A: orders-0 = 5      orders-0 = 7      A: commit
    counts              –                  7                7, since 5 was written before it

So a commit that comes to count drops whatever is pending for the same partition and was written before it.

Kafka: OffsetMetadataManager.replay, replayEndTransactionMarker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ottla.coordinator.offsets.store import CommittedOffset

#: Group, topic, partition.
OffsetPlace: TypeAlias = tuple[str, str, int]


class PendingOffsets:
    """The offsets of open transactions, by producer id."""

    __slots__ = ("_of_producer", "_written")

    def __init__(self) -> None:
        self._of_producer: dict[int, dict[OffsetPlace, tuple[int, CommittedOffset]]] = {}
        self._written = 0

    def add(self, producer_id: int, place: OffsetPlace, committed: CommittedOffset) -> None:
        """The producer's transaction commits this."""
        self._written += 1
        self._of_producer.setdefault(producer_id, {})[place] = self._written, committed

    def overrule(self, place: OffsetPlace) -> None:
        """Something that counts at once was written for this place: a commit without transaction, or a tombstone."""
        for offsets in self._of_producer.values():
            offsets.pop(place, None)

    def end(self, producer_id: int, *, is_commit: bool) -> list[tuple[OffsetPlace, CommittedOffset]]:
        """The producer's transaction is over. Returns what counts from now on."""
        ended = self._of_producer.pop(producer_id, {})
        if not is_commit:
            return []
        for place, (written, _) in ended.items():
            for offsets in self._of_producer.values():
                if place in offsets and offsets[place][0] < written:
                    del offsets[place]
        return [(place, committed) for place, (_, committed) in ended.items()]

    def __bool__(self) -> bool:
        return bool(self._of_producer)

"""A producer on a partition, as data: what is remembered of it, written to snapshots, and shown. Kafka:
ProducerStateEntry, BatchMetadata."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1


class NumberedBatch(NamedTuple):
    """A batch that was appended: its sequence numbers, its offsets, its largest timestamp."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class ProducerEntry:
    """One producer on one partition, as DescribeProducers shows it."""

    producer_id: int
    producer_epoch: int = NO_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    #: Where its open transaction began on this partition; None without one.
    transaction_first_offset: int | None = None
    batches: list[NumberedBatch] = field(default_factory=list)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def take_epoch(self, producer_epoch: int) -> None:
        """A new incarnation starts with no batches."""
        if self.producer_epoch != producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch

    def copy(self) -> ProducerEntry:
        """What it is now: an entry changes with each batch."""
        return replace(self, batches=self.batches.copy())

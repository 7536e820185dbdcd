"""A shard: one partition of an internal topic, the machines that live in it, and what spans them.

It takes in the records of its partition, oldest first, before any of its machines is alive. Each type of record has a
function that changes a machine as the live one would have changed; types it doesn't know are counted and passed over.
What spans machines, such as which of them a producer's transaction has touched, is the shard's own.

Kafka: CoordinatorShard; GroupCoordinatorShard is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeAlias

from ottla.coordinator.runtime.kind import Kind, M
from ottla.coordinator.runtime.records import CorruptRecordError, Record, prefix
from ottla.protocol.records import NO_PRODUCER_ID

#: Takes in a record of one type: key, value (None: a tombstone), and the producer id if it is part of a transaction.
Replay: TypeAlias = Callable[[bytes, bytes | None, int], None]


class Shard(ABC, Generic[M]):
    """The machines of one partition, by their keys."""

    def __init__(self, partition: int, only_key: str | None = None) -> None:
        """`only_key`: the key of the machine that is read anew, alone; None: all of them are read."""
        self.partition = partition
        self._only_key = only_key
        self.machines: dict[str, M] = {}
        self.unknown_types: Counter[int] = Counter()
        """Records that were passed over, by their type: of kinds of machines that are not kept here."""

    @property
    @abstractmethod
    def replays(self) -> Mapping[int, Replay]:
        """What takes in each type of record."""

    @abstractmethod
    def kind_of(self, machine: M) -> Kind[M]:
        """What drives this machine."""

    @abstractmethod
    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """A producer's transaction is over, says its marker in the log: what it wrote counts now, or never."""

    def is_about(self, key: str) -> bool:
        """Whether the records of the machine of this key are to be taken in."""
        return self._only_key is None or key == self._only_key

    def replay(self, key: bytes | None, value: bytes | None, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take in one record, perhaps of a producer's transaction. Raises `CorruptRecordError`."""
        if key is None:
            raise CorruptRecordError("a record has no key")
        record_type = prefix(key, "key")
        replay = self.replays.get(record_type)
        if replay is None:
            self.unknown_types[record_type] += 1
        else:
            replay(key, value, producer_id)

    def replay_all(self, records: Iterable[Record]) -> None:
        """Take in records that are part of no transaction."""
        for key, value in records:
            self.replay(key, value)

"""Disks that fail: appends that are refused or come to nothing, without anything being wrong with the real ones.

A fault of this kind stands around the storage of every log, or around the log of the groups, from when it is set until
the last one is removed. What it lets pass goes to the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.coordinator.runtime.records import INT16, prefix
from ottla.log.storage.contract import LogStorage, StorageError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.group_metadata_key import GroupMetadataKey
from ottla.protocol.messages.offset_commit_key import OffsetCommitKey

if TYPE_CHECKING:
    from ottla.coordinator.runtime.effects import Writer
    from ottla.coordinator.runtime.log import Log as GroupLog
    from ottla.coordinator.runtime.records import Record

#: Kafka: CoordinatorRecordType.
_OFFSET_COMMIT: Final = 1
_GROUP_METADATA: Final = 2


class FailAppend:
    """The append fails as if the disk had said this, and nothing is written."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.text = f"fail the append ({reason})"


class RefuseGroupAppend:
    """What a group writes is refused with this error, and nothing is written."""

    def __init__(self, error: ErrorCode) -> None:
        self.error = error
        self.text = f"fail the append with {error.name}"


class LoseRecord(RefuseGroupAppend):
    """What a group writes seems to be written, and is not: it is gone with the group's coordinator."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NONE)
        self.text = "lose the record"


class FaultyStorage:
    """Stands around the storage of a partition's log."""

    def __init__(self, real: LogStorage, topic: str, index: int, hit: Callable[[str, int], FailAppend | None]) -> None:
        """`hit`: what happens to the next append to a topic and partition, if anything does."""
        self.real = real
        self._topic = topic
        self._index = index
        self._hit = hit

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def append(self, *arguments: Any) -> None:
        """As the real one, or raises `StorageError`."""
        fault = self._hit(self._topic, self._index)
        if fault is not None:
            raise StorageError(f"{self._topic}-{self._index} can't be written: {fault.reason}")
        self.real.append(*arguments)


class FaultyGroupLog:
    """Stands around the log of the groups."""

    def __init__(
        self, real: GroupLog, hit: Callable[[str, Sequence[tuple[str, int]], GroupLog], ErrorCode | None]
    ) -> None:
        """`hit`: what becomes of the next append of a group and of the partitions it commits, to the real log; None: it
        is written. May raise `AppendHeld`.
        """
        self.real = real
        self._hit = hit

    def append(self, partition: int, records: Sequence[Record], /) -> ErrorCode:
        """As the real one, or what was asked for in its place."""
        refused = self._refused(records)
        return self.real.append(partition, records) if refused is None else refused

    def append_in_transaction(self, partition: int, records: Sequence[Record], writer: Writer, /) -> ErrorCode:
        """The same of what is part of a transaction."""
        refused = self._refused(records)
        return self.real.append_in_transaction(partition, records, writer) if refused is None else refused

    def _refused(self, records: Sequence[Record]) -> ErrorCode | None:
        for group_id, committed in _groups_of(records).items():
            error = self._hit(group_id, committed, self.real)
            if error is not None:
                return error
        return None


def _groups_of(records: Sequence[Record]) -> dict[str, list[tuple[str, int]]]:
    """The groups that these records are of, each with the partitions that it commits offsets of."""
    found: dict[str, list[tuple[str, int]]] = {}
    for group_id, committed in _keys(records):
        found.setdefault(group_id, []).extend(committed)
    return found


def _keys(records: Sequence[Record]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    for data, _ in records:
        record_type = prefix(data, "key")
        if record_type == _OFFSET_COMMIT:
            key = OffsetCommitKey.decode(data, 0, INT16.size)
            yield key.group, [(key.topic, key.partition)]
        elif record_type == _GROUP_METADATA:
            yield GroupMetadataKey.decode(data, 0, INT16.size).group, []

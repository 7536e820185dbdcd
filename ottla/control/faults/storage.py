"""Disks that fail: appends to partitions that are refused, while the real storage is in order.

A `FaultyStorage` stands around the storage of every log while there is such a fault. What it lets pass goes to the real
one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.control.faults.exchange import Action
from ottla.control.faults.occurrence import Occurrence
from ottla.log.storage.contract import LogStorage, StorageError

if TYPE_CHECKING:
    from ottla.control.faults.occurrence import Happens, Remove
    from ottla.log.logs import Logs


class FailAppend(Action):
    """The append fails as if the disk had said this, and nothing is written."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.text = f"fail the append ({reason})"


class FaultyStorage:
    """Stands around the storage of a partition's log."""

    def __init__(self, real: LogStorage, topic: str, index: int, happens: Happens[FailAppend]) -> None:
        self.real = real
        self._topic = topic
        self._index = index
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def append(self, *arguments: Any) -> None:
        """As the real one, or raises `StorageError`."""
        partition = f"{self._topic}-{self._index}"
        happened = self._happens(Occurrence(f"append to {partition}", partition=(self._topic, self._index)))
        if happened is not None:
            raise StorageError(f"{partition} can't be written: {happened[0].reason}")
        self.real.append(*arguments)


def surround_storages(logs: Logs, happens: Happens[FailAppend]) -> Remove:
    """Put a `FaultyStorage` around each storage there is and will be. Returns what takes them away again."""
    former = logs.wrap_storage

    def around(storage: LogStorage, topic: str, index: int) -> LogStorage:
        faulty: Any = FaultyStorage(storage, topic, index, happens)
        wrapped: LogStorage = faulty
        return wrapped

    def wrap(storage: LogStorage, topic: str, index: int) -> LogStorage:
        return around(storage if former is None else former(storage, topic, index), topic, index)

    def remove() -> None:
        logs.wrap_storage = former
        for log in logs.partitions:
            log.put_around_storage(_real)

    logs.wrap_storage = wrap
    for log in logs.partitions:
        log.put_around_storage(partial(around, topic=log.topic, index=log.index))
    return remove


def _real(storage: LogStorage) -> LogStorage:
    return storage.real if isinstance(storage, FaultyStorage) else storage

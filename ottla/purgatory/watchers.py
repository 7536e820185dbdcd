"""Under each key, the operations to check when something happens to it, in the order they came.

An operation stands in the list of every key that could let it complete. Walking the list of one key drops completed
operations from it and, when it is empty, the key. In the lists of its other keys a completed operation stays, dead,
until they are walked too; `dead` counts such operations, so that the purgatory can sweep when there are many.
Striking an operation from all its lists at once would cost a search in each; most lists are walked soon anyway.

Completing an operation runs code that may call this module again, with the same key. So a walk tries the operations
that were there when it began, and changes the list itself only at its end: an operation that is added meanwhile was
tested when added, and one that is completed or cancelled meanwhile is passed over.

Kafka: DelayedOperationPurgatory.Watchers and WatcherList; its 512 shards keep threads apart, and here is only one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ottla.purgatory.operation import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Op = TypeVar("Op", bound=DelayedOperation)


class Watchers(Generic[Op]):
    """key -> operations waiting under it, oldest first."""

    __slots__ = ("_by_key", "dead", "watched")

    def __init__(self) -> None:
        self._by_key: dict[Hashable, list[Op]] = {}
        self.watched = 0
        """The lengths of all lists together: an operation counts once for each key, and also when it is dead."""
        self.dead = 0
        """Operations that are completed and still stand in some list."""

    @property
    def keys(self) -> list[Hashable]:
        """The keys under which operations stand, dead or alive."""
        return list(self._by_key)

    def watching(self, key: Hashable) -> int:
        """How many stand under a key, dead or alive."""
        return len(self._by_key.get(key, ()))

    def watch(self, key: Hashable, operation: Op) -> None:
        """Put an operation that isn't completed at the end of the list of `key`."""
        waiting = self._by_key.get(key)
        if waiting is None:
            self._by_key[key] = [operation]
        else:
            waiting.append(operation)
        operation._watch_count += 1
        self.watched += 1

    def complete(self, key: Hashable, on_error: Callable[[Exception, Op], None]) -> int:
        """Complete the operations under `key` that can be, in order, and return how many that were.

        One that raises doesn't stop the others: its error goes to `on_error`.
        """
        waiting = self._by_key.get(key)
        if waiting is None:
            return 0
        completed = 0
        try:
            for operation in tuple(waiting):
                if not waiting:
                    break  # the rest was cancelled, or completed and dropped, by the one before
                if operation.is_completed:
                    continue
                try:
                    completed += operation.try_complete_for(key)
                except Exception as error:
                    completed += operation.is_completed
                    on_error(error, operation)
        finally:
            self._drop_completed(key, waiting)
        return completed

    def cancel(self, key: Hashable) -> list[Op]:
        """Remove the key and return the operations that waited under it. Their places under other keys remain."""
        waiting = self._by_key.pop(key, [])
        cancelled = [operation for operation in waiting if not operation.is_completed]
        for operation in waiting:
            self._strike(operation)
        waiting.clear()  # for a walk that is under way
        return cancelled

    def purge(self) -> None:
        """Drop the dead from all lists."""
        for key, waiting in list(self._by_key.items()):
            self._drop_completed(key, waiting)

    def _drop_completed(self, key: Hashable, waiting: list[Op]) -> None:
        live = []
        for operation in waiting:
            if operation.is_completed:
                self._strike(operation)
            else:
                live.append(operation)
        waiting[:] = live
        if not live and self._by_key.get(key) is waiting:
            del self._by_key[key]

    def _strike(self, operation: Op) -> None:
        """Account for one place fewer that the operation stands in."""
        self.watched -= 1
        operation._watch_count -= 1
        if operation.is_completed and not operation._watch_count:
            self.dead -= 1

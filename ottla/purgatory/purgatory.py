"""A purgatory: where operations of one kind wait, watched under keys and with a deadline each.

`try_complete_else_watch` is how an operation gets here, `check_and_complete(key)` is what every event calls that might
let an operation under `key` complete; the timer does the rest. No wake-up is lost: an operation is tested once more
after it is watched under all its keys, so an event before that moment is seen by the test and an event after it finds
the operation in the list.

Three numbers can be read at any time: `watched` (places in lists of watchers), `delayed` (operations whose deadline is
running), `expired` (operations completed by their deadline, ever). Completed operations may linger in the lists of keys
that nothing happens to. Once more than `purge_interval` of them do, the reaper sweeps all lists in the next turn: it is
itself an entry of the timer, armed only then, so an idle purgatory causes no wake-up.

Kafka: org.apache.kafka.server.purgatory.DelayedOperationPurgatory. Its reaper looks every 200 ms and goes by an
estimate of their number (operations watched since the last sweep, less those delayed) that takes in operations which
have left all lists; this one knows the number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic

from ottla.purgatory.timer import Alarm, Timer
from ottla.purgatory.timing_wheel import NEVER_MS
from ottla.purgatory.watchers import Op, Watchers

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

PURGE_INTERVAL: Final = 1000  # Kafka: DelayedOperationPurgatory; 1 for DeleteRecords, 0 for RemoteFetch


class Purgatory(Generic[Op]):
    """The operations of one kind that are waiting, such as all delayed fetches of a broker."""

    __slots__ = ("_reaper", "_watchers", "delayed", "expired", "name", "purge_interval", "timer")

    def __init__(self, name: str, timer: Timer, purge_interval: int = PURGE_INTERVAL) -> None:
        """`purge_interval`: how many completed operations may linger; less if they hold on to much memory."""
        self.name = name
        self.timer = timer
        self.purge_interval = purge_interval
        self.delayed = 0
        """Operations waiting with a deadline. Kafka: the gauge NumDelayedOperations."""
        self.expired = 0
        """Operations that their deadline has completed so far. Kafka: the meters ExpiresPerSec."""
        self._watchers: Watchers[Op] = Watchers()
        self._reaper = Alarm(self._purge)

    @property
    def watched(self) -> int:
        """Places in lists of watchers, those of lingering operations included. Kafka: the gauge PurgatorySize."""
        return self._watchers.watched

    @property
    def lingering(self) -> int:
        """Completed operations that still stand in some list."""
        return self._watchers.dead

    @property
    def watched_keys(self) -> list[Hashable]:
        """The keys that operations are watched under."""
        return self._watchers.keys

    def watching(self, key: Hashable) -> int:
        """How many operations stand under a key, lingering ones included."""
        return self._watchers.watching(key)

    def try_complete_else_watch(self, operation: Op, keys: Collection[Hashable]) -> bool:
        """Complete the operation, or let it wait under every one of `keys` until its deadline.

        True if this very call completed it, so False also when another did meanwhile. An operation can be given
        to one purgatory, once.
        """
        if not keys:
            raise ValueError("an operation needs at least one key to be watched under")
        if operation.try_complete():
            return True
        operation._purgatory = self
        for key in keys:
            if operation.is_completed:
                break
            self._watchers.watch(key, operation)
        if operation.try_complete():
            return True
        if not operation.is_completed and operation.deadline_ms != NEVER_MS:
            operation._is_delayed = True
            self.delayed += 1
            self.timer.add(operation, operation.deadline_ms)  # which fires nothing by itself
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Something happened to `key`: complete what can be now, in the order they came; return how many that were.

        An operation that raises is completed or goes on waiting, as far as it got; its error goes to the timer's
        `on_error`, for the cause of the event has no part in it, and the others are looked at all the same.
        """
        return self._watchers.complete(key, self.timer.on_error)

    def cancel_for_key(self, key: Hashable) -> list[Op]:
        """Nothing will ever happen to `key` again: return what waited under it, not completed, their deadlines stopped.

        Events on their other keys can still complete them. A walk of `key` that is under way passes them over, even if
        their conditions are true by now: the caller decides on them. Kafka: cancelForKey, which completes none.
        """
        cancelled = self._watchers.cancel(key)
        for operation in cancelled:
            self._stop_deadline(operation)
        return cancelled

    def drain(self) -> list[Op]:
        """Empty the purgatory and return all that waited, each once, for the caller to complete as the program ends."""
        waiting = [operation for key in self._watchers.keys for operation in self.cancel_for_key(key)]
        return list(dict.fromkeys(waiting))

    def let_go(self, operation: Op) -> None:
        """Called by an operation of this purgatory that is completed, before it runs its `on_complete`."""
        self._stop_deadline(operation)
        if operation._watch_count:
            self._watchers.dead += 1
            if self._watchers.dead > self.purge_interval and not self._reaper.is_pending:
                self.timer.add(self._reaper, self.timer.now_ms())

    def _stop_deadline(self, operation: Op) -> None:
        if operation._is_delayed:
            operation._is_delayed = False
            self.delayed -= 1
            self.timer.cancel(operation)

    def _purge(self) -> None:
        if self._watchers.dead > self.purge_interval:
            self._watchers.purge()

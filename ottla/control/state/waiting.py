"""Who waits until something is true: looked at again when something has happened, not every now and then.

    event, or a log grew ─▶ noted ┄┄ end of the turn ┄┄▶ look ─▶ holds? ─▶ go on

What happens within a step of the broker is looked at when the step is over. Each wait has an end in real time, whatever
the broker's clock does, and says then what there was instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.control.state.conditions import Condition, no_group_rebalances
from ottla.control.state.stopping import Stopping
from ottla.events.kind import KINDS, Kind

if TYPE_CHECKING:
    from ottla.broker.lifecycle.assembly import Assembly
    from ottla.events.stream import Event
    from ottla.log.partition import Partition
    from ottla.log.partition_answers import PartitionEvent

T = TypeVar("T")

#: What may matter to a condition; that a log has grown is heard from the log.
_WAKING: Final = [
    kind for kind in KINDS.values() if kind.name.startswith(("group.", "topic.", "partition.", "node.", "transaction"))
]


class NotInTime(TimeoutError):
    """A wait has timed out; the text describes the present state."""


class Waiting:
    """Those who wait, in one broker."""

    #: Nobody here has anything to do before something happens.
    is_settled = True

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts
        self._waiters: set[asyncio.Future[None]] = set()
        self._is_closed = False

    def close(self) -> None:
        """The broker is stopping: what is waited for won't happen."""
        self._is_closed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, condition: Condition[T], timeout_s: float) -> T:
        """Return what there is once the condition holds. Raises `NotInTime`, and `Stopping`."""
        parts = self._parts
        if condition.holds(found := condition.look(parts)):
            return found
        waker = _Waker(parts, condition.topics)
        try:
            async with asyncio.timeout(timeout_s):
                while not condition.holds(found := condition.look(parts)):
                    await self._next(waker)
                return found
        except TimeoutError:
            told = condition.told(condition.look(parts))
            raise NotInTime(f"waited {timeout_s:g} s in vain for {condition.said}; {told}") from None
        finally:
            waker.close()

    async def until_idle(self, timeout_s: float) -> None:
        """Return when no group rebalances and nothing is left to do until a client asks or time passes."""
        parts, condition = self._parts, no_group_rebalances()
        try:
            async with asyncio.timeout(timeout_s):
                while not (parts.services.is_settled and condition.holds(condition.look(parts))):
                    await self.until(condition, timeout_s)
                    await asyncio.sleep(0)  # what is not settled has its turn now
        except TimeoutError:
            told = condition.told(condition.look(parts)) or "requests are being worked off"
            raise NotInTime(f"waited {timeout_s:g} s in vain for the broker to be idle; {told}") from None

    async def _next(self, waker: _Waker) -> None:
        """Return when something has happened that may matter."""
        if self._is_closed:
            raise Stopping
        waiter = waker.arm()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
        if self._is_closed:
            raise Stopping


class _Waker:
    """Wakes one who waits, once a turn."""

    def __init__(self, parts: Assembly, topics: Iterable[str]) -> None:
        self._cluster = parts.cluster
        self._topics = frozenset(topics)
        self._listens_to: list[Partition] = []
        self._waiter: asyncio.Future[None] | None = None
        self._stop_reading: Callable[[], None] = parts.events.read(self._happened, _WAKING)
        self._listen()

    def arm(self) -> asyncio.Future[None]:
        """What is done when something happens from now on."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def close(self) -> None:
        self._stop_reading()
        for partition in self._listens_to:
            partition.listeners.remove(self._moved)

    def _happened(self, event: Event) -> None:
        if event.kind in (Kind.TOPIC_CREATED, Kind.TOPIC_GROWN):
            self._listen()
        self._wake()

    def _moved(self, _partition: Partition, _event: PartitionEvent) -> None:
        self._wake()

    def _wake(self) -> None:
        """Who is woken runs in a later turn of the loop, when what is being done is done."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _listen(self) -> None:
        for name in self._topics & self._cluster.topics.keys():
            for partition in self._cluster.topics[name].partitions:
                if partition not in self._listens_to:
                    partition.listeners.append(self._moved)
                    self._listens_to.append(partition)

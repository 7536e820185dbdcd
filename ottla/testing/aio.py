"""`kafka.aio`: what a test with an event loop of its own does with a broker.

    async with Broker() as kafka, Service(kafka.bootstrap_servers):
        await kafka.aio.group("orders").wait_for_assignment()

The broker runs in a thread of its own all the same, so whatever the test awaits, it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ottla.testing.clockwork import Deadlines
from ottla.testing.groups import AsyncGroup
from ottla.testing.inside import TIMEOUT_S
from ottla.testing.seeing import Seeing
from ottla.testing.topics import AsyncTopic
from ottla.testing.transactions import AsyncTransaction

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.changes.snapshot import Snapshot
    from ottla.control.state.timeline import Timeline
    from ottla.testing.inside import Inside

T = TypeVar("T")


class AsyncLooking(Seeing, Deadlines):
    """What a test may look at in a running broker, and await."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside

    def group(self, group_id: str) -> AsyncGroup:
        """A consumer group; it need not exist yet."""
        return AsyncGroup(self._inside, group_id)

    def topic(self, name: str) -> AsyncTopic:
        """A topic; it need not exist yet."""
        return AsyncTopic(self._inside, name)

    def transaction(self, transactional_id: str) -> AsyncTransaction:
        """A transactional id; it need not exist yet."""
        return AsyncTransaction(self._inside, transactional_id)

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this function in the broker's event loop and return its result."""
        return self._inside.look(at)

    def timeline_since(self, mark: int, /) -> Timeline:
        """The events since this mark."""
        return self._inside.timeline_since(mark)

    async def wait_until_idle(self, *, timeout_s: float = TIMEOUT_S) -> None:
        """As `Broker.wait_until_idle`."""
        await self._inside.run_in_loop(lambda broker: broker.waiting.until_idle(timeout_s))

    async def reset(self) -> None:
        """As `Broker.reset`."""
        await self._inside.run_in_loop(lambda broker: broker.reset())

    async def restore(self, to: Snapshot) -> None:
        """As `Broker.restore`."""
        from ottla.control.changes.snapshot import restore

        await self._inside.run_in_loop(lambda broker: restore(broker.server.parts, to))

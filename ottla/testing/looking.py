"""What a test may wait for in a running broker: the part of `Broker` that is there for that.

    kafka.group("kitchen").wait_for(state="Stable", members=2)
    kafka.topic("orders").wait_for_records(7)
    await kafka.aio.group("kitchen").wait_for_assignment()      # in a test with an event loop of its own

What is seen at once is in `seeing`; what waits is there twice, and under `aio` it is awaited: see `aio`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.testing.inside import TIMEOUT_S
from ottla.testing.seeing import Seeing

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.changes.snapshot import Snapshot
    from ottla.control.state.conditions import Condition
    from ottla.testing.groups import Group
    from ottla.testing.topics import Topic
    from ottla.testing.transactions import Transaction

T = TypeVar("T")

#: How much longer than what it waits for a thread waits for the broker.
_GRACE_S: Final = 30.0


class Looking(Seeing):
    """Whatever runs a broker derives from this, and says how to get inside."""

    def group(self, group_id: str) -> Group:
        """A consumer group; it need not exist yet."""
        from ottla.testing.groups import Group

        return Group(self, group_id)

    def topic(self, name: str) -> Topic:
        """A topic; it need not exist yet."""
        from ottla.testing.topics import Topic

        return Topic(self, name)

    def transaction(self, transactional_id: str) -> Transaction:
        """A transactional id; it need not exist yet."""
        from ottla.testing.transactions import Transaction

        return Transaction(self, transactional_id)

    def wait_until_idle(self, *, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until no group rebalances, and the broker has no work until a request comes or time passes.

        Raises `NotInTime`.
        """
        self._result(self._begin(lambda broker: broker.waiting.until_idle(timeout_s)), timeout_s)

    def reset(self) -> None:
        """Reset the broker to its state at the start: no topics, no groups, no changed settings, all nodes up.

        Connections stay, and connected consumers join again. The timeline starts again.
        """
        self.run(lambda broker: broker.reset())

    def restore(self, to: Snapshot) -> None:
        """Go back to a snapshot of topics and groups, of this broker or of another. Session timeouts start again.

        Raises `SnapshotRefused`.
        """
        from ottla.control.changes.snapshot import restore

        self.run(lambda broker: restore(broker.server.parts, to))

    # --- the way inside ---

    def look(self, at: Callable[[ControlledBroker], T]) -> T:
        """Call this function in the broker's event loop and return its result."""

        async def call(broker: ControlledBroker) -> T:
            return at(broker)

        return self._result(self._begin(call), 0)

    def wait(self, condition: Condition[T], timeout_s: float) -> T:
        """Wait until the condition is true, and return its result. Raises `NotInTime`."""
        return self._result(self._begin(lambda broker: broker.waiting.until(condition, timeout_s)), timeout_s)

    def wait_in_loop(self, condition: Condition[T], timeout_s: float) -> Awaitable[T]:
        """The same for a test that has an event loop of its own, which goes on meanwhile."""
        return self.run_in_loop(lambda broker: broker.waiting.until(condition, timeout_s))

    def run(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the broker's event loop and return its result."""
        return self._result(self._begin(work), 0)

    def run_in_loop(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        """Have a coroutine run in the broker's event loop while that of the test goes on."""
        return asyncio.wrap_future(self._begin(work))

    def _begin(self, work: Callable[[ControlledBroker], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a coroutine run in the broker's event loop. Raises `RuntimeError` if it does not run."""
        raise NotImplementedError

    def _result(self, future: Future[T], timeout_s: float) -> T:
        try:
            return future.result(timeout_s + _GRACE_S)
        except BaseException:
            future.cancel()
            raise

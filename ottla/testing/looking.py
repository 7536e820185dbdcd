"""What a test may look at in a running broker, and wait for: the part of `Broker` that is there for that.

    kafka.group("kitchen").wait_for(state="Stable", members=2)
    kafka.topic("orders").wait_for_records(7)
    await kafka.aio.group("kitchen").wait_for_assignment()      # in a test with an event loop of its own

Looks are quick, so they are the same everywhere; what waits is there twice, and under `aio` it is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.testing.inside import TIMEOUT_S

if TYPE_CHECKING:
    from ottla.broker.server import Server
    from ottla.broker.state.conditions import Condition
    from ottla.broker.state.connections import ConnectionView
    from ottla.broker.state.timeline import Timeline
    from ottla.testing.groups import AsyncGroup, Group
    from ottla.testing.topics import AsyncTopic, Topic

T = TypeVar("T")

#: How much longer than what it waits for a thread waits for the broker.
_GRACE_S: Final = 30.0


class Looking:
    """Whatever runs a broker derives from this, and says how to get inside."""

    def group(self, group_id: str) -> Group:
        """A consumer group, be it there or not."""
        from ottla.testing.groups import Group

        return Group(self, group_id)

    def topic(self, name: str) -> Topic:
        """A topic, be it there or not."""
        from ottla.testing.topics import Topic

        return Topic(self, name)

    @property
    def connections(self) -> list[ConnectionView]:
        """Who is connected, and what clients have said of themselves."""
        from ottla.broker.state.connections import look_at_connections

        return self.look(lambda server: look_at_connections(server.connections))

    def wait_until_idle(self, *, timeout_s: float = TIMEOUT_S) -> None:
        """Return when no group rebalances and the broker has nothing left to do until a client asks or time passes.

        Raises `NotInTime`.
        """
        self._result(self._begin(lambda server: server.waiting.until_idle(timeout_s)), timeout_s)

    @property
    def timeline(self) -> Timeline:
        """What has happened since the start, in order; printed, it is a table. It can be had when all is over, too."""
        return self.timeline_since(0)

    def mark(self) -> int:
        """This moment, for `since`."""
        return self.timeline.last_sequence

    def assert_never(
        self, kind: str, *, group: str | None = None, member: str | None = None, since: int = 0, **details: object
    ) -> None:
        """Assert that nothing of this kind has happened, in this group, to this member, and with these details.

        kind: such as group.member.removed; docs/logs.md has them all, and their details. since: after this
        `kafka.mark()`. A `*` stands for anything. Raises `AssertionError` with the timeline.
        """
        from ottla.testing.asserting import assert_never

        assert_never(self.timeline_since(since), kind, group=group, member=member, **details)

    @property
    def aio(self) -> Aio:
        """What waits, for `await`."""
        return Aio(self)

    # --- the way inside ---

    def look(self, at: Callable[[Server], T]) -> T:
        """Call this in the broker's event loop and return what it returns."""

        async def call(server: Server) -> T:
            return at(server)

        return self._result(self._begin(call), 0)

    def wait(self, condition: Condition[T], timeout_s: float) -> T:
        """Return what there is when the condition holds. Raises `NotInTime`."""
        return self._result(self._begin(lambda server: server.waiting.until(condition, timeout_s)), timeout_s)

    def wait_in_loop(self, condition: Condition[T], timeout_s: float) -> Awaitable[T]:
        """The same for a test that has an event loop of its own, which goes on meanwhile."""
        return asyncio.wrap_future(self._begin(lambda server: server.waiting.until(condition, timeout_s)))

    def wait_until_idle_in_loop(self, timeout_s: float) -> Awaitable[None]:
        return asyncio.wrap_future(self._begin(lambda server: server.waiting.until_idle(timeout_s)))

    def timeline_since(self, mark: int) -> Timeline:
        """What has happened since this mark."""
        raise NotImplementedError

    def _begin(self, work: Callable[[Server], Coroutine[Any, Any, T]]) -> Future[T]:
        """Have a coroutine run in the broker's event loop. Raises `RuntimeError` if it does not run."""
        raise NotImplementedError

    def _result(self, future: Future[T], timeout_s: float) -> T:
        try:
            return future.result(timeout_s + _GRACE_S)
        except BaseException:
            future.cancel()
            raise


class Aio:
    """What waits, for a test with an event loop of its own."""

    def __init__(self, inside: Looking) -> None:
        self._inside = inside

    def group(self, group_id: str) -> AsyncGroup:
        """The waits of a consumer group."""
        from ottla.testing.groups import AsyncGroup

        return AsyncGroup(self._inside, group_id)

    def topic(self, name: str) -> AsyncTopic:
        """The waits of a topic."""
        from ottla.testing.topics import AsyncTopic

        return AsyncTopic(self._inside, name)

    async def wait_until_idle(self, *, timeout_s: float = TIMEOUT_S) -> None:
        """As `Broker.wait_until_idle`."""
        await self._inside.wait_until_idle_in_loop(timeout_s)

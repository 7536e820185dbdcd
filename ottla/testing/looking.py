"""What a test may look at in a running broker, and wait for: the part of `Broker` that is there for that.

    kafka.group("kitchen").wait_for(state="Stable", members=2)
    kafka.topic("orders").wait_for_records(7)
    await kafka.aio.group("kitchen").wait_for_assignment()      # in a test with an event loop of its own

Looks are quick, so they are the same everywhere; what waits is there twice, and under `aio` it is awaited: see `aio`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ottla.testing.inside import TIMEOUT_S

if TYPE_CHECKING:
    from ottla.broker.server import Server
    from ottla.broker.state.conditions import Condition
    from ottla.broker.state.connections import ConnectionView
    from ottla.broker.state.requests import ReceivedRequest
    from ottla.broker.state.snapshot import Snapshot
    from ottla.broker.state.timeline import Timeline
    from ottla.broker.state.transactions import TransactionView
    from ottla.testing.aio import AsyncLooking
    from ottla.testing.groups import Group
    from ottla.testing.topics import Topic
    from ottla.testing.transactions import Transaction

T = TypeVar("T")

#: How much longer than what it waits for a thread waits for the broker.
_GRACE_S: Final = 30.0


class Looking:
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

    @property
    def transactions(self) -> list[TransactionView]:
        """All transactional ids, with the states of their transactions."""
        from ottla.broker.state.transactions import look_at_transactions

        return self.look(lambda server: look_at_transactions(server.services))

    @property
    def connections(self) -> list[ConnectionView]:
        """The connections, with the names and versions of their client libraries."""
        from ottla.broker.state.connections import look_at_connections

        return self.look(lambda server: look_at_connections(server.connections))

    def wait_until_idle(self, *, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until no group rebalances, and the broker has no work until a request comes or time passes.

        Raises `NotInTime`.
        """
        self._result(self._begin(lambda server: server.waiting.until_idle(timeout_s)), timeout_s)

    @property
    def timeline(self) -> Timeline:
        """All events since the start, in order; printed, they are a table. Available after the stop, too."""
        return self.timeline_since(0)

    def mark(self) -> int:
        """A mark of this moment, for `since`: only later events count."""
        return perf_counter_ns()

    def requests(
        self, api: str = "*", *, group: str | None = None, client_id: str | None = None, since: int = 0
    ) -> list[ReceivedRequest]:
        """The last 5,000 requests with their answers, decoded, in order.

        api: by Kafka's name, such as OffsetCommit. since: after this `mark()`. A `*` matches any text. For a broker
        made with record_requests=True; else raises `RuntimeError`.
        """
        from ottla.testing.requests import requests_of

        return requests_of(self, api, group=group, client_id=client_id, since=since)

    def assert_received(
        self,
        api: str,
        *,
        group: str | None = None,
        client_id: str | None = None,
        since: int = 0,
        exactly: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
    ) -> None:
        """Assert the number of such requests, as in `requests`; by default at least one.

        Raises `AssertionError` with the timeline.
        """
        from ottla.testing.requests import assert_requests

        assert_requests(
            self,
            api,
            group=group,
            client_id=client_id,
            since=since,
            exactly=exactly,
            at_least=at_least,
            at_most=at_most,
        )

    def assert_never(
        self, kind: str, *, group: str | None = None, member: str | None = None, since: int = 0, **details: object
    ) -> None:
        """Assert that nothing of this kind has happened, in this group, to this member, and with these details.

        kind: such as group.member.removed; docs/logs.md has them all, and their details. since: after this
        `kafka.mark()`. A `*` matches any text. Raises `AssertionError` with the timeline.
        """
        from ottla.testing.asserting import assert_never

        assert_never(self.timeline_since(since), kind, group=group, member=member, **details)

    def reset(self) -> None:
        """Reset the broker to its state at the start: no topics, no groups, no changed settings, all nodes up.

        Connections stay, and connected consumers join again. The timeline starts again.
        """
        self.run(lambda server: server.reset())

    def snapshot(self) -> Snapshot:
        """A snapshot of all topics and groups, for `restore`. Raises `SnapshotRefused` if logs are on disk."""
        from ottla.broker.state.snapshot import snapshot

        return self.look(lambda server: snapshot(server.parts))

    def restore(self, to: Snapshot) -> None:
        """Go back to a snapshot of topics and groups, of this broker or of another. Session timeouts start again.

        Raises `SnapshotRefused`.
        """
        from ottla.broker.state.snapshot import restore

        self.run(lambda server: restore(server.parts, to))

    @property
    def aio(self) -> AsyncLooking:
        """The same methods for asyncio: waits are awaited."""
        from ottla.testing.aio import AsyncLooking

        return AsyncLooking(self)

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Make the node `to` the leader of this partition, as after a reassignment.

        Raises `NoSuchTopic`, and `ChangeRefused` if the node is not up.
        """
        from ottla.broker.state.leader_changes import move_leader

        self.look(lambda server: move_leader(server.services, server.cluster, topic, partition, to))

    # --- the way inside ---

    def look(self, at: Callable[[Server], T]) -> T:
        """Call this function in the broker's event loop and return its result."""

        async def call(server: Server) -> T:
            return at(server)

        return self._result(self._begin(call), 0)

    def wait(self, condition: Condition[T], timeout_s: float) -> T:
        """Wait until the condition is true, and return its result. Raises `NotInTime`."""
        return self._result(self._begin(lambda server: server.waiting.until(condition, timeout_s)), timeout_s)

    def wait_in_loop(self, condition: Condition[T], timeout_s: float) -> Awaitable[T]:
        """The same for a test that has an event loop of its own, which goes on meanwhile."""
        return self.run_in_loop(lambda server: server.waiting.until(condition, timeout_s))

    def run(self, work: Callable[[Server], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the broker's event loop and return its result."""
        return self._result(self._begin(work), 0)

    def run_in_loop(self, work: Callable[[Server], Coroutine[Any, Any, T]]) -> Awaitable[T]:
        """Have a coroutine run in the broker's event loop while that of the test goes on."""
        return asyncio.wrap_future(self._begin(work))

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

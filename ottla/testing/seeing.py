"""What a test sees of a running broker at once, with an event loop of its own or without: nothing here waits.

kafka.timeline          kafka.connections          kafka.assert_received("OffsetCommit", group="kitchen")
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ottla.control.attached.controlled_broker import ControlledBroker
    from ottla.control.changes.snapshot import Snapshot
    from ottla.control.state.connections import ConnectionView
    from ottla.control.state.requests import ReceivedRequest
    from ottla.control.state.timeline import Timeline
    from ottla.control.state.transactions import TransactionView

T = TypeVar("T")


class Seeing:
    """Whatever has a broker to look at derives from this, and says how to get inside."""

    @property
    def transactions(self) -> list[TransactionView]:
        """All transactional ids, with the states of their transactions."""
        from ottla.control.state.transactions import look_at_transactions

        return self.look(lambda broker: look_at_transactions(broker.server.services))

    @property
    def connections(self) -> list[ConnectionView]:
        """The connections, with the names and versions of their client libraries."""
        from ottla.control.state.connections import look_at_connections

        return self.look(lambda broker: look_at_connections(broker.server.connections))

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

    def snapshot(self) -> Snapshot:
        """A snapshot of all topics and groups, for `restore`. Raises `SnapshotRefused` if logs are on disk."""
        from ottla.control.changes.snapshot import snapshot

        return self.look(lambda broker: snapshot(broker.server.parts))

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Make the node `to` the leader of this partition, as after a reassignment.

        Raises `NoSuchTopic`, and `ChangeRefused` if the node is not up.
        """
        from ottla.control.changes.leaders import move_leader

        self.look(lambda broker: move_leader(broker.server.services, broker.server.cluster, topic, partition, to))

    # --- the way inside ---

    def look(self, at: Callable[[ControlledBroker], T], /) -> T:
        """Call this function in the broker's event loop and return its result."""
        raise NotImplementedError

    def timeline_since(self, mark: int, /) -> Timeline:
        """The events since this mark."""
        raise NotImplementedError
